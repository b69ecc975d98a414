package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// settings are a configuration's with their defaults.
func settings(c rl.MCPConfig) rl.MCPConfig {
	if c.Share == "" {
		c.Share = "episode"
	}
	if c.Share == "episode" {
		c.Reuse, c.Servers = max(c.Reuse, 1), max(c.Servers, 4)
	}
	if c.Effect == "" {
		c.Effect = "episode_local"
	}
	if c.OutputBytes == 0 {
		c.OutputBytes = 16 << 10
	}
	return c
}

func opened(t testing.TB, c rl.MCPConfig, tasks ...Task) envs.World {
	t.Helper()
	if len(tasks) == 0 {
		tasks = []Task{{Goal: "do it"}, {Goal: "do it well", Split: rl.Eval}}
	}
	s, err := Open(context.Background(), settings(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w, err := s.World(tasks)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// serversOf are those of a world.
func serversOf(w envs.World) *Servers { return w.New().(*env).world.Servers }

// begun is an episode of a world's first task.
func begun(t testing.TB, w envs.World) envs.Env {
	t.Helper()
	e := w.New()
	if _, err := e.Reset(context.Background(), w.Task(rl.Train, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func step(t testing.TB, e envs.Env, tool, arguments string) string {
	t.Helper()
	r, err := e.Step(t.Context(), call(tool, arguments))
	if err != nil {
		t.Fatal(err)
	}
	return r.Content
}

func call(tool, arguments string) envs.Call {
	return envs.Call{ToolCall: rl.ToolCall{Name: tool, Arguments: json.RawMessage(arguments)}}
}

// none fails when processes are left.
func none(t testing.TB) {
	t.Helper()
	for range 600 {
		if child.Left() == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d processes are left", child.Left())
}

// What a server does wrong in a call is an observation as long as it lives and it is known what became of the call.
func TestWhatServersDoWrong(t *testing.T) {
	e := begun(t, opened(t, rl.MCPConfig{Command: command("chatty")}))
	for _, c := range []struct{ tool, arguments, want string }{
		{"echo", `{"text":"hello"}`, `{"text":"hello"}`},
		{"echo", `{"text":"b","n":12345678901234567890,"x":1.0}`, `{"text":"b","n":12345678901234567890,"x":1.0}`},
		{"act", `{"what":"noise"}`, "after the noise"},
		{"act", `{"what":"nan"}`, "error: the server's answer is not JSON"},
		{"act", `{"what":"no-version"}`, "with a version"},
		{"act", `{"what":"huge"}`, "error: the result is too large: more than 16777216 bytes"},
		{"act", `{"what":"huge-last"}`, "error: the result is too large: more than 16777216 bytes"},
		{"act", `{"what":"error"}`, "error: not so"},
		{"act", `{"what":"is-error"}`, "error: it failed"},
		{"act", `{"what":"empty"}`, "(no content)"},
		{"act", `{"what":"odd-text"}`, "\uFFFD \uFFFD"},
		{"no_tool", `{}`, `bad call: there is no tool "no_tool"; the tools are act, echo, note`},
		{"echo", `{}`, `bad call: echo needs "text"`},
		{"echo", `{"text":7}`, `bad call: "text" of echo must be string, not number`},
		{"echo", `{"text":"` + strings.Repeat("x", 21) + `"}`, `bad call: "text" of echo is not as its schema says: {"type":"string","maxLength":20}`},
		{"act", `{"what":"other"}`, `bad call: "what" of act is not as its schema says: {"enum":["noise","nan","no-version","large","huge","huge-last","hang","die","spawn","error","is-error","empty","env","odd-text"]}`},
		{"act", `{"what":"noise","more":1}`, `bad call: act takes no "more"`},
		{"note", `{"text":"a"}`, "1 notes"},
		{"note", `{"text":"b"}`, "2 notes"},
	} {
		if got := step(t, e, c.tool, c.arguments); got != c.want {
			t.Errorf("%s(%s) = %.200q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
	if got := step(t, e, "act", `{"what":"large"}`); len(got) != 10<<20 {
		t.Errorf("10 MB are %d bytes", len(got))
	}
	if r, err := e.Step(t.Context(), call(envs.FinalText, `"done"`)); err != nil || !r.Done {
		t.Error(r, err)
	}
	if s, err := e.Score(t.Context()); err != nil || s.Scored() {
		t.Errorf("a task without checks is scored: %+v, %v", s, err)
	}
	e.Close()
	none(t)
}

// A check that the server does not carry out says nothing of the episode.
func TestARefusedCheckIsNoScore(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command("")},
		Task{Goal: "g", Checks: []Check{{Tool: "act", Arguments: json.RawMessage(`{"what":"error"}`), Contains: "x"}}}, Task{Goal: "h", Split: rl.Eval})
	if s, err := begun(t, w).Score(t.Context()); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "environment mcp: the check by act: ") {
		t.Errorf("%+v, %v", s, err)
	}
}

// A server that is lost, or does not answer, takes the episode with it: never a score, and the next one begins with a fresh server.
func TestALostServerIsNoObservation(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command("ignore-eof"), Reuse: 100})
	for _, c := range []struct {
		what, want string
		limit      time.Duration
	}{
		{"die", "when act was called: ", time.Minute},
		{"hang", "act gave no result in time: ", 2 * time.Second},
	} {
		e := begun(t, w)
		if got := step(t, e, "note", `{"text":"a"}`); got != "1 notes" {
			t.Errorf("the state of another episode: %s", got)
		}
		spawned := step(t, e, "act", `{"what":"spawn"}`)
		ctx, cancel := context.WithTimeout(t.Context(), c.limit)
		_, err := e.Step(ctx, call("act", `{"what":"`+c.what+`"}`))
		cancel()
		if rl.KindOf(err) != rl.Unavailable || !strings.HasPrefix(err.Error(), at+": "+c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
		if c.what == "die" && !strings.Contains(err.Error(), "the server has ended: exit status 1; it said: starting up") {
			t.Error(err)
		}
		if _, err := e.Step(t.Context(), call("note", `{}`)); c.what == "die" && rl.KindOf(err) != rl.Unavailable {
			t.Errorf("after its end: %v", err)
		}
		if s, err := e.Score(t.Context()); rl.KindOf(err) != rl.Unavailable {
			t.Errorf("%s is scored: %+v, %v", c.what, s, err)
		}
		e.Close()
		if pid, _ := strconv.Atoi(spawned); syscall.Kill(pid, 0) == nil && child.Left() > 0 {
			t.Errorf("process %d, which the server started, lives", pid)
		}
	}
	none(t)
}

// A server that is killed in mid-call from outside.
func TestKillInMidCall(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command("")})
	e := begun(t, w)
	time.AfterFunc(300*time.Millisecond, e.(*env).server.process.Kill)
	if _, err := e.Step(t.Context(), call("act", `{"what":"hang"}`)); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
	e.Close()
	none(t)
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Setenv("SET", "some value")
	full := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(full, "a"), 0o755), os.WriteFile(filepath.Join(full, "a/b"), []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config rl.MCPConfig
		task   Task
		kind   rl.Kind
		want   string
	}{
		{rl.MCPConfig{Command: "no-such-program x"}, Task{}, rl.Invalid, "env.mcp.command: it cannot be started: "},
		{rl.MCPConfig{Command: "node 'x"}, Task{}, rl.Invalid, "env.mcp.command: a quote has no end"},
		{rl.MCPConfig{Command: command("no-start"), Env: "DATABASE=SET"}, Task{}, rl.Unavailable, "environment mcp: when a session was begun with " + os.Args[0] + " (env.mcp.command): "},
		{rl.MCPConfig{Command: "true"}, Task{}, rl.Unavailable, "environment mcp: when a session was begun with true (env.mcp.command): "},
		{rl.MCPConfig{URL: "http://127.0.0.1:1/mcp"}, Task{}, rl.Unavailable, "environment mcp: when a session was begun with env.mcp.url: "},
		{rl.MCPConfig{Command: command(""), Env: "A=UNSET"}, Task{}, rl.Unavailable, "env.mcp.env: the environment variable UNSET is not set where this worker runs"},
		{rl.MCPConfig{Command: command(""), Tools: "echo, say"}, Task{}, rl.Invalid, "env.mcp.tools: the server has no tool say; it has act, echo, note"},
		{rl.MCPConfig{Command: command(""), Effects: "say=pure"}, Task{}, rl.Invalid, "env.mcp.effects: the agent has no tool say; it has act, echo, note"},
		{rl.MCPConfig{Command: command(""), Tools: "echo", Effects: "note=pure"}, Task{}, rl.Invalid, "env.mcp.effects: the agent has no tool note; it has echo"},
		{rl.MCPConfig{Command: command("dotted")}, Task{}, rl.Invalid, `env.mcp.tools: the server's tool "fs.read" has no name that models can call it by`},
		{rl.MCPConfig{Command: command("toolless")}, Task{}, rl.Invalid, "env.mcp.command: the server has no tools: "},
		{rl.MCPConfig{Command: command("endless")}, Task{}, rl.Invalid, "env.mcp.command: the server lists more than 1000 tools"},
		{rl.MCPConfig{Command: command(""), Files: "/no/such/directory"}, Task{}, rl.Invalid, "env.mcp.files: "},
		{rl.MCPConfig{Command: command("")}, Task{Files: map[string]string{"a": "b"}}, rl.Invalid, `env.mcp.command: the task "g" has files, and there is no {dir} for them`},
		{rl.MCPConfig{Command: command("{dir}"), Share: "worker"}, Task{Files: map[string]string{"a": "b"}}, rl.Invalid, `env.mcp.share: the task "g" has files, and all episodes have the same directory`},
		{rl.MCPConfig{Command: command("{dir}"), Files: full}, Task{Files: map[string]string{"a": "b"}}, rl.Invalid, `env.mcp.files: the file a of the task "g" is a directory here, or lies in a file`},
		{rl.MCPConfig{Command: command("{dir}"), Files: full}, Task{Files: map[string]string{"a/b/c": "d"}}, rl.Invalid, `env.mcp.files: the file a/b/c of the task "g" is a directory here, or lies in a file`},
		{rl.MCPConfig{Command: command("")}, Task{Checks: []Check{{Tool: "say", Is: "x"}}}, rl.Invalid, `env.mcp.tasks: the task "g" names the tool say, which the server does not have`},
	} {
		c.task.Goal = "g"
		s, err := Open(t.Context(), settings(c.config))
		if err == nil {
			_, err = s.World([]Task{c.task})
			s.Close()
		}
		if rl.KindOf(err) != c.kind || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.config, err)
		}
		if err != nil && strings.Contains(err.Error(), "some value") {
			t.Errorf("a secret is told: %v", err)
		}
	}
	none(t)
}

// A server sees of the worker's environment what it is given, and its results do not repeat that.
func TestSecretsStayWithTheServer(t *testing.T) {
	t.Setenv("SERVICE_KEY", "hunter2hunter2")
	t.Setenv("OTHER_KEY", "another secret")
	w := opened(t, rl.MCPConfig{Command: command("tells"), Env: "TOKEN=SERVICE_KEY"})
	e := begun(t, w)
	if said := e.Spec().System; !strings.HasSuffix(said, "Mind the [TOKEN].") {
		t.Error(said)
	}
	got := step(t, e, "act", `{"what":"env"}`)
	if !strings.Contains(got, "TOKEN=[TOKEN]") || strings.Contains(got, "hunter2") || strings.Contains(got, "another secret") {
		t.Error(got)
	}
}

func TestSpec(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command(""), Tools: "note,echo", Effects: "echo=pure", CallTimeout: rl.Duration(3 * time.Second), OutputBytes: 300})
	spec := w.New().Spec()
	if !spec.TextEnds || !strings.HasSuffix(spec.System, "\n\nMind the gap.") || len(spec.Tools) != 2 {
		t.Errorf("%+v", spec)
	}
	for _, tool := range spec.Tools {
		want := envs.EpisodeLocal // whatever the server's readOnlyHint says
		if tool.Name == "echo" {
			want = envs.Pure
		}
		if tool.Effect != want || tool.Timeout != 3*time.Second || tool.OutputCap != 300 {
			t.Errorf("%+v", tool)
		}
	}
	if w.Digest == opened(t, rl.MCPConfig{Command: command("")}).Digest || w.Count(rl.Train) != 1 || w.Count(rl.Eval) != 1 {
		t.Error(w.Digest, w.Count(rl.Train))
	}
}

// A call that is idempotent by its key has it with it; no other call has.
func TestCallsHaveTheirKeys(t *testing.T) {
	for effect, has := range map[string]bool{"external_idempotent": true, "external_once": false, "pure": false} {
		e := begun(t, opened(t, rl.MCPConfig{Command: command("keyed"), Effect: effect}))
		c := call("echo", `{"text":"x"}`)
		c.Key = "a/1/t/0/2/0"
		if r, err := e.Step(t.Context(), c); err != nil || strings.Contains(r.Content, `"longhaul/idempotency-key":"a/1/t/0/2/0"`) != has {
			t.Errorf("%s: %+v, %v", effect, r, err)
		}
	}
}

func TestBytes(t *testing.T) {
	for s, want := range map[string]int64{"2Gi": 2 << 30, "1.5M": 1500000, "": 0} {
		if s != "" && bytesOf(s) != want {
			t.Errorf("%s: %d", s, bytesOf(s))
		}
	}
}

func TestTheDirectorysName(t *testing.T) {
	for in, want := range map[string]string{
		`{"path":"/episode/a.txt"}`:     `{"path":"/tmp/x/a.txt"}`,
		`{"path":"/episode"}`:           `{"path":"/tmp/x"}`,
		`["in /episode.", "/episodes"]`: `["in /tmp/x.", "/episodes"]`,
		`"/var/episode file:/episode"`:  `"/var/episode file:/tmp/x"`,
		`{"path":"a/episode/b"}`:        `{"path":"a/episode/b"}`,
	} {
		if got := string(meant([]byte(in), "/tmp/x")); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if got := shown("in /tmp/x/a", "/tmp/x"); got != "in /episode/a" {
		t.Error(got)
	}
}

// Whatever a server writes, what is passed on is whole messages, which the SDK can read.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{"noise\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n", `{"jsonrpc":"2.0","method":"x"}`, "[]\nnull\n{}\n", `{"result":{},"jsonrpc":"2.0","id":7}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := io.ReadAll(newFrames(io.NopCloser(bytes.NewReader(src)), func([]byte, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out) {
			if _, err := jsonrpc.DecodeMessage(line); err != nil || bytes.ContainsAny(line[:len(line)-1], "\n") {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}
