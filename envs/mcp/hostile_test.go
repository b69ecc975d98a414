package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also an MCP server that does all that servers should not; it is one when its first argument is "serve".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serve(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

// command is that server's. Its flags are words such as ignore-eof.
func command(flags string) string { return "'" + os.Args[0] + "' serve " + flags }

type hostile struct {
	out   io.Writer
	flags string
	notes []string // its state
}

const hostileTools = `[
{"name":"echo","description":"says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string","maxLength":20}},"required":["text"]}},
{"name":"note","description":"keeps a note and tells how many there are","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true}},
{"name":"act","description":"does something bad","inputSchema":{"type":"object","properties":{"what":{"enum":["noise","nan","no-version","large","huge","huge-last","hang","die","spawn","error","is-error","empty","env","odd-text"]}},"required":["what"],"additionalProperties":false}}]`

func serve(flags []string) {
	has := strings.Join(flags, " ")
	s := &hostile{out: os.Stdout, flags: has}
	fmt.Fprintln(os.Stderr, "starting up")
	if strings.Contains(has, "chatty") {
		fmt.Println("Welcome to the server!\n\n{\"level\":\"info\"}")
	}
	if strings.Contains(has, "no-start") {
		fmt.Fprintln(os.Stderr, "no database at", os.Getenv("DATABASE"))
		os.Exit(3)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var r struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
				Meta      json.RawMessage `json:"_meta"`
			}
		}
		if json.Unmarshal(line, &r) == nil && r.ID != nil {
			if strings.Contains(has, "keyed") {
				r.Params.Arguments = r.Params.Meta
			}
			s.answer(string(r.ID), r.Method, r.Params.Name, r.Params.Arguments)
		}
	}
	if strings.Contains(has, "ignore-eof") {
		select {}
	}
}

func (s *hostile) answer(id, method, tool string, arguments json.RawMessage) {
	switch method {
	case "initialize":
		said := "Mind the gap."
		if strings.Contains(s.flags, "tells") {
			said = "Mind the " + os.Getenv("TOKEN") + "."
		}
		s.result(id, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"1"},"instructions":`+strconv.Quote(said)+`}`)
	case "tools/list":
		if strings.Contains(s.flags, "toolless") {
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", id)
			return
		}
		if strings.Contains(s.flags, "endless") {
			s.result(id, `{"tools":`+s.tools()+`,"nextCursor":"again"}`)
			return
		}
		s.result(id, `{"tools":`+s.tools()+`}`)
		if strings.Contains(s.flags, "deaf") {
			time.Sleep(time.Hour)
		}
	case "tools/call":
		s.call(id, tool, arguments)
	default:
		fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", id)
	}
}

func (s *hostile) tools() string {
	var all []map[string]any
	json.Unmarshal([]byte(hostileTools), &all)
	if strings.Contains(s.flags, "shuffled") {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	if strings.Contains(s.flags, "dotted") {
		all[1]["name"] = "fs.read"
	}
	b, _ := json.Marshal(all)
	return string(b)
}

func (s *hostile) result(id, result string) {
	fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func (s *hostile) say(id, text string) {
	b, _ := json.Marshal(text)
	s.result(id, `{"content":[{"type":"text","text":`+string(b)+`}]}`)
}

func (s *hostile) call(id, tool string, arguments json.RawMessage) {
	var a struct{ Text, What string }
	json.Unmarshal(arguments, &a)
	switch tool + " " + a.What {
	case "note ":
		s.notes = append(s.notes, a.Text)
		s.say(id, fmt.Sprint(len(s.notes), " notes"))
	case "act noise":
		fmt.Fprint(s.out, "Traceback: something\n[1,2]\nnull\n{\"a\":1}\n")
		s.say(id, "after the noise")
	case "act nan":
		s.result(id, `{"content":[],"structuredContent":{"x":NaN}}`)
	case "act no-version":
		fmt.Fprintf(s.out, `{"id":%s,"result":{"content":[]}}`+"\n", id)
		s.say(id, "with a version")
	case "act large":
		s.say(id, strings.Repeat("x", 10<<20))
	case "act huge":
		s.say(id, strings.Repeat("x", 17<<20))
	case "act huge-last":
		fmt.Fprintf(s.out, `{"result":{"content":[{"type":"text","text":"%s"}]},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("x", 17<<20), id)
	case "act hang":
	case "act die":
		os.Exit(1)
	case "act spawn":
		c := exec.Command("sleep", "1000")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		c.Start()
		s.say(id, fmt.Sprint(c.Process.Pid))
	case "act error":
		fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not so"}}`+"\n", id)
	case "act is-error":
		s.result(id, `{"content":[{"type":"text","text":"it failed"}],"isError":true}`)
	case "act empty":
		s.result(id, `{"content":[]}`)
	case "act env":
		s.say(id, strings.Join(os.Environ(), "\n"))
	case "act odd-text":
		s.result(id, `{"content":[{"type":"text","text":"\ud800 `+"\xff"+`"}]}`)
	default:
		s.say(id, string(arguments))
	}
}
