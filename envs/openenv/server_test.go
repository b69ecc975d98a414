package openenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// counter is a server of OpenEnv in Go: a world that counts up from its seed. An action's "do" says what else happens.
type counter struct {
	mu       sync.Mutex
	sessions int    // live now
	most     int    // more are refused
	begun    int    // sessions ever
	header   string // the Authorization that is asked for
	refusals int    // sockets to refuse with CAPACITY_REACHED, whatever the room
	lively   bool   // the world is another one each time
	asked    []string
	pings    bool       // after a reset the client is pinged
	pong     chan error // what came of it
}

const counterSchema = `{"action":{"type":"object","title":"CountAction","description":"Counts on.","additionalProperties":false,
	"properties":{"metadata":{"type":"object"},"add":{"type":"integer","title":"Add"},"do":{"type":"string"}},"required":["add"]}}`

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case c.header != "" && r.Header.Get("Authorization") != c.header:
		http.Error(w, "not you, with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	case r.URL.Path == "/schema":
		fmt.Fprint(w, counterSchema)
	case r.URL.Path == "/ws":
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		c.session(r.Context(), conn)
		conn.Close(websocket.StatusNormalClosure, "")
	default:
		http.NotFound(w, r)
	}
}

func (c *counter) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusals--
	if c.refusals >= 0 || c.sessions >= c.most {
		return false
	}
	c.sessions++
	c.begun++
	return true
}

func say(ctx context.Context, conn *websocket.Conn, kind string, data any) {
	b, _ := json.Marshal(map[string]any{"type": kind, "data": data})
	conn.Write(ctx, websocket.MessageText, b)
}

func (c *counter) session(ctx context.Context, conn *websocket.Conn) {
	if !c.enter() {
		say(ctx, conn, "error", map[string]any{"message": "full", "code": "CAPACITY_REACHED", "max_sessions": c.most})
		return
	}
	defer func() {
		c.mu.Lock()
		c.sessions--
		c.mu.Unlock()
	}()
	for n := 0; ; {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var q struct {
			Type string
			Data struct {
				Seed, Add int
				Do        string
			}
		}
		json.Unmarshal(b, &q)
		c.mu.Lock()
		c.asked = append(c.asked, string(b))
		c.mu.Unlock()
		if q.Type == "close" {
			return
		}
		if q.Type == "reset" {
			if n = q.Data.Seed % 10; c.lively {
				n += c.begun
			}
			say(ctx, conn, "observation", map[string]any{"observation": map[string]any{"n": n, "metadata": map[string]any{"secret": 1}}, "reward": nil, "done": false})
			if c.pings {
				go func() { c.pong <- conn.Ping(ctx) }()
			}
			continue
		}
		n += q.Data.Add
		observation, reward := map[string]any{"n": n}, any(float64(q.Data.Add))
		switch q.Data.Do {
		case "die":
			conn.CloseNow()
			return
		case "hang":
			<-ctx.Done()
			return
		case "raise":
			say(ctx, conn, "error", map[string]any{"message": "division by zero", "code": "EXECUTION_ERROR"})
			continue
		case "tell", "tell all":
			code := map[string]string{"tell": "VALIDATION_ERROR", "tell all": "EXECUTION_ERROR"}[q.Data.Do]
			say(ctx, conn, "error", map[string]any{"message": "not with " + c.header, "code": code})
			continue
		case "refuse":
			say(ctx, conn, "error", map[string]any{"message": "Invalid message", "code": "VALIDATION_ERROR", "errors": []any{map[string]any{"loc": []any{"add", 0}, "msg": "too odd"}}})
			continue
		case "garbage":
			conn.Write(ctx, websocket.MessageText, []byte("Internal Server Error"))
			continue
		case "twice":
			say(ctx, conn, "observation", map[string]any{"observation": "once", "reward": 0, "done": false})
		case "big":
			observation["text"] = strings.Repeat("x", 7<<20)
		case "unpaid":
			reward = nil
		case "win":
			reward = true
		case "infinite":
			reward = 1e300
		}
		say(ctx, conn, "observation", map[string]any{"observation": observation, "reward": reward, "done": n >= 100})
	}
}

// ended waits until the server has no session left: it may hear of an end later than the client has gone on.
func (c *counter) ended(t *testing.T) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n := c.sessions
		c.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d sessions are left", n)
		}
	}
}

// serve runs a counter, and opens its world.
func serve(t *testing.T, c *counter, change func(*rl.OpenEnvConfig)) envs.World {
	t.Helper()
	if c.most == 0 {
		c.most = 1
	}
	c.pong = make(chan error, 1)
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	cfg := rl.OpenEnvConfig{URL: s.URL + "/", Sessions: c.most, Tool: "count", OutputBytes: 1000, Score: "sum", Failed: "void", ResetTimeout: rl.Duration(time.Minute)}
	if change != nil {
		change(&cfg)
	}
	w, err := open(rl.EnvConfig{Use: "openenv", OpenEnv: cfg})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// played is an episode that begins with the world's first training task.
func played(t *testing.T, w envs.World) envs.Env {
	t.Helper()
	env := w.New()
	t.Cleanup(func() { env.Close() })
	if _, err := env.Reset(t.Context(), w.Task(rl.Train, 0)); err != nil {
		t.Fatal(err)
	}
	return env
}

func count(arguments string) envs.Call {
	return envs.Call{ToolCall: rl.ToolCall{Name: "count", Arguments: json.RawMessage(arguments)}}
}
