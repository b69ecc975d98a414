package gateway

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

var update = flag.Bool("update", false, "write what frameworks sent to testdata/habits")

// habits are the ways in which frameworks call their endpoint, by the example's program and its options.
var habits = []struct{ name, program string }{
	{"openai_agents_responses", "python openai_agents.py"},
	{"openai_agents_responses_stream", "python openai_agents.py --stream"},
	{"openai_agents_chat", "python openai_agents.py --chat"},
	{"openai_agents_chat_stream", "python openai_agents.py --chat --stream"},
	{"langgraph_chat", "python langgraph_agent.py"},
	{"langgraph_chat_stream", "python langgraph_agent.py --stream"},
	{"langgraph_responses", "python langgraph_agent.py --responses"},
	{"pydantic_ai_chat", "python pydantic_agent.py"},
	{"pydantic_ai_chat_stream", "python pydantic_agent.py --stream"},
	{"pydantic_ai_responses", "python pydantic_agent.py --responses"},
	{"smolagents", "python smol_agent.py"},
	{"smolagents_stream", "python smol_agent.py --stream"},
	{"openai_agents_js", "node openai_agents.ts"},
	{"openai_agents_js_stream", "node openai_agents.ts --stream"},
	{"openai_agents_js_chat", "node openai_agents.ts --chat"},
	{"ai_responses", "node vercel_ai.ts"},
	{"ai_responses_stream", "node vercel_ai.ts --stream"},
	{"ai_chat", "node vercel_ai.ts --chat"},
	{"ai_chat_stream", "node vercel_ai.ts --chat --stream"},
}

// script is what the policy says to a framework: calls beside text, calls side by side, letters that are escaped in JSON, reasoning.
var script = []string{
	calls("Let me look.", "find_order", `{"order":"41"}`),
	calls("", "track_box", `{"box":"é<M7> \"x\""}`, "track_box", `{"box":"M7"}`),
	calls("<think>Where is it?</think>", "inspect", `{"box":"J2"}`),
	calls("", "answer", `{"place":"Bonn 1"}`),
}

// tap records the requests that reach a gateway, and what it answers.
type tap struct {
	gateway http.Handler
	mu      sync.Mutex
	seen    []exchange
}

type exchange struct {
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request"`
	answer  []byte
}

func (t *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	copied := &copying{ResponseWriter: w}
	t.gateway.ServeHTTP(copied, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	_, page, _ := strings.Cut(r.URL.Path, "/v1")
	t.seen = append(t.seen, exchange{page, body, copied.b.Bytes()})
}

type copying struct {
	http.ResponseWriter
	b bytes.Buffer
}

func (c *copying) Write(b []byte) (int, error) {
	c.b.Write(b)
	return c.ResponseWriter.Write(b)
}

// tapped puts a tap before the desk's gateway.
func (d *desk) tapped() *tap {
	through := &tap{gateway: d.server}
	s := httptest.NewServer(through)
	d.t.Cleanup(s.Close)
	d.server.base = s.URL
	return through
}

// The frameworks themselves, each with every API it has: whatever they do to the conversation, it stays one history, whose tokens
// go on from those that were sampled.
func TestFrameworks(t *testing.T) {
	worlds := os.Getenv("LONGHAUL_TEST_AGENTS")
	if worlds == "" {
		t.Skip("LONGHAUL_TEST_AGENTS is not set: make test-agents installs the frameworks")
	}
	for _, h := range habits {
		t.Run(h.name, func(t *testing.T) {
			d := newDesk(t, "chat")
			d.client = (&scripted{script: script}).client()
			d.agent = exampleAgent(t, worlds, h.program)
			through := d.tapped()
			o := d.options(0)
			o.Task = d.agent.tasks.task(rl.Train, 0)
			o.EpisodeTimeout, o.TurnTimeout = 5*time.Minute, time.Minute
			got, err := d.agent.Run(t.Context(), d.server, d.client, o)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				keepHabit(t, h.name, through.seen)
			}
			if got.Stop != rl.Answered || got.Outcome.Value != 1 || len(got.Turns) != len(script) {
				t.Errorf("%s after %d turns: %+v\n%s", got.Stop, len(got.Turns), got.Outcome, got.Closing.Messages)
			}
			oneHistory(t, got)
		})
	}
}

// oneHistory checks that a trajectory is one training row.
func oneHistory(t *testing.T, got *rl.Trajectory) {
	t.Helper()
	rows, why := got.Samples()
	if len(rows) != 1 || why != "" {
		t.Errorf("%d rows (%s)", len(rows), why)
		for i, turn := range got.Turns {
			t.Logf("%d: from %v, kept %d, sees %s", i, turn.From, turn.Action.Kept, rl.CanonicalJSON(turn.Observation.Messages))
		}
	}
}

// exampleAgent is one of examples/agents.
func exampleAgent(t *testing.T, worlds, program string) *Agent {
	t.Helper()
	dir := t.TempDir() // beside the packages that the programs import
	if err := os.CopyFS(dir, os.DirFS("../examples/agents")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(worlds+"/agents/node_modules", dir+"/node_modules"); err != nil {
		t.Fatal(err)
	}
	program = strings.NewReplacer("python ", worlds+"/agents/bin/python ", "node ", worlds+"/agents/node_modules/.bin/tsx ").Replace(program)
	w, err := envs.Open(t.Context(), rl.EnvConfig{Use: Kind, Agent: rl.AgentConfig{
		Command: program, Directory: dir, Goal: "argument", Tasks: dir + "/tasks.jsonl", Check: "python3 check.py", Output: 4096,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w.New().(*Agent)
}

func keepHabit(t *testing.T, name string, seen []exchange) {
	t.Helper()
	lines := make([]string, len(seen))
	for i, x := range seen {
		b, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = string(b)
	}
	if err := os.WriteFile(filepath.Join("testdata", "habits", name+".json"), []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
