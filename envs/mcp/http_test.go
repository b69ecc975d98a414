package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// A server that turns sessions away will not have them later either; one that is busy may.
func TestAServerThatTurnsAway(t *testing.T) {
	for code, want := range map[int]string{
		401: "env.mcp.headers: the server answers 401 Unauthorized", 403: "env.mcp.headers: the server answers 403 Forbidden",
		404: "env.mcp.url: the server answers 404 Not Found", 405: "env.mcp.url: the server answers 405 Method Not Allowed",
		429: "environment mcp: when a session was begun with env.mcp.url: ", 503: "environment mcp: when a session was begun with env.mcp.url: ",
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(code)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`)
		}))
		_, err := Open(t.Context(), settings(rl.MCPConfig{URL: server.URL}))
		server.Close()
		kind := rl.Refused
		if code == 429 || code == 503 {
			kind = rl.Unavailable
		}
		if rl.KindOf(err) != kind || !strings.HasPrefix(err.Error(), want) || asked != 1 {
			t.Errorf("%d: %v, after %d requests", code, err, asked)
		}
	}
}

// An answer of one message that does not end is an error of the call, and nobody keeps it.
func TestAnAnswerWithoutAnEnd(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage
			Method string
		}
		json.NewDecoder(r.Body).Decode(&q)
		w.Header().Set("Content-Type", "application/json")
		switch q.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, q.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, q.ID, strings.ReplaceAll(hostileTools, "\n", ""))
		case "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, q.ID)
			for part := []byte(strings.Repeat("x", 1<<20)); sent.Load() < 1<<30; sent.Add(int64(len(part))) {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	e := begun(t, opened(t, rl.MCPConfig{URL: server.URL}))
	if got := step(t, e, "note", `{}`); got != "error: the result is too large: more than 16777216 bytes" {
		t.Error(got)
	}
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were read", n)
	}
}
