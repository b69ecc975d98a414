package propose

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longhaul-rl/longhaul/child"
	envmcp "github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/rl"
)

// The test binary is also an MCP server with a price list; it is one when its first argument is "serve".
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		os.Exit(m.Run())
	}
	type args struct {
		Item string `json:"item"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "prices", Version: "2"}, nil)
	for _, name := range []string{"price", "stock", "weight"} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "the " + name + " of an item"}, func(_ context.Context, r *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
			said := fmt.Sprintf("%s of %s: %d", name, a.Item, len(a.Item))
			if len(os.Args) > 2 { // a file of the calls' keys, whose length tells calls apart: no two have the same answer
				f, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
				if err != nil {
					return nil, nil, err
				}
				defer f.Close()
				fmt.Fprintln(f, r.Params.Meta["longhaul/idempotency-key"])
				n, _ := f.Seek(0, io.SeekEnd)
				said += fmt.Sprintf(", call %d", n)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// author is a server of the OpenAI API whose models are scripted: "writer" writes tasks by a list of replies, then new ones for ever;
// "solver" asks for a price and answers, and finds every task with "impossible" in it failed. "weak" finds every task failed, "endless"
// asks for prices for ever, and "picky" will have nothing to do with boxes.
type author struct {
	*httptest.Server
	script []string

	mu     sync.Mutex
	asked  map[string]int // requests, by their body
	writes int
	fails  int
	stop   func(requests int) // hears of each request before it is answered
}

func newAuthor(t *testing.T, script ...string) *author {
	a := &author{script: script, asked: map[string]int{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *author) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	body := json.RawMessage{}
	json.NewDecoder(r.Body).Decode(&body)
	json.Unmarshal(body, &q)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[string(body)]++
	if a.stop != nil {
		a.stop(len(a.asked))
	}
	first, last := q.Messages[0].Content, q.Messages[len(q.Messages)-1]
	message := map[string]any{"role": "assistant"}
	if q.Model == "picky" && strings.Contains(string(body), "how heavy") {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"messages: no boxes"}}`)
		return
	}
	switch {
	case q.Model == "writer":
		message["content"] = a.write(string(body))
	case strings.HasPrefix(first, "You check whether"):
		message["content"] = fmt.Sprintf(`{"success": %v, "why": "it says so"}`, q.Model != "weak" && !strings.Contains(last.Content, "impossible"))
	case last.Role == "tool" && q.Model != "endless":
		message["content"] = "it is " + last.Content
	default:
		message["tool_calls"] = []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "price", "arguments": `{"item":"tea"}`}}}
	}
	json.NewEncoder(w).Encode(map[string]any{"model": q.Model + "-1", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}}, "usage": map[string]int{"prompt_tokens": 10, "completion_tokens": 5}})
}

// write is a reply that follows from the request alone, once the script is through.
func (a *author) write(body string) string {
	if n := a.writes; n < len(a.script) {
		a.writes++
		return a.script[n]
	}
	n := rl.Seed(1, body) % 100_000_000
	return fmt.Sprintf(`{"tasks":[{"goal":"price number %d please","rubric":"r","tools":["price"],"answer_contains":"price of tea"},{"goal":"how heavy would box %d be","rubric":"r","tools":["weight","stock"],"answer_contains":"no such"}]}`, n, n+1)
}

func options(a *author, dir string) Options {
	return Options{
		Env:    rl.EnvConfig{Use: "mcp", MaxTurns: 5, EpisodeTimeout: rl.Duration(time.Minute), MCP: rl.MCPConfig{Command: "'" + os.Args[0] + "' serve", Share: "episode", Reuse: 1, Servers: 2, Effect: "pure", OutputBytes: 1000}},
		Writer: Model{URL: a.URL + "/v1", Model: "writer"}, Solver: Model{URL: a.URL + "/v1", Model: "solver"}, Out: filepath.Join(dir, "tasks.jsonl"),
		Tasks: 6, Eval: .4, Batch: 2, Tries: 1, Concurrency: 2, Temperature: 1, ReplyTokens: 500, Timeout: time.Minute, Seed: 1,
	}
}

func written1(t *testing.T, o Options) []envmcp.Task {
	t.Helper()
	b, err := os.ReadFile(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := envmcp.ReadTasks(o.Out, b)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func TestTasksAreWrittenCheckedAndKept(t *testing.T) {
	a := newAuthor(t,
		"I would rather not.",
		`{"tasks":[{"goal":"what does tea cost?","rubric":"says 3","tools":["cost"],"answer_contains":""}]}`,
		"<think>hm</think>```json\n"+`{"tasks":[{"goal":"what does tea cost?","rubric":"says 3","tools":["price"],"answer_contains":"price of tea: 3"},{"goal":"do the impossible with tea","rubric":"r","tools":["stock"],"answer_contains":""}]}`+"\n```",
		`{"tasks":[{"goal":"What does Tea cost","rubric":"r","tools":["price"],"answer_contains":""}]}`,
		`{"tasks":[{"goal":"How many of my meetings on 3 March take more than an hour","rubric":"r","tools":["price"],"answer_contains":""}]}`,
	)
	o := options(a, t.TempDir())
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Tasks != 6 || r.Eval != 2 || r.ByKind["easy"] != 2 || r.ByKind["medium"] != 2 || r.ByKind["hard"] != 2 || r.Invalid != 2 || r.Server != "prices 2" ||
		r.Refused["not solved"] != 1 || r.Refused["like another task"] != 2 {
		t.Errorf("%+v", r)
	}
	tasks := written1(t, o)
	first := tasks[0]
	if first.Goal != "what does tea cost?" || first.Rubric != "says 3" || len(first.Checks) != 1 || first.Checks[0].Contains != "price of tea: 3" ||
		len(first.Solution) != 2 || first.Origin.Model != "writer-1" || first.Origin.Solver != "solver" || first.Origin.Calls != 1 || len(first.Origin.Call) != 64 {
		t.Errorf("%+v, %+v", first, first.Origin)
	}
	for _, task := range tasks {
		if strings.HasPrefix(task.Goal, "how heavy") && task.Checks != nil { // its answer does not have what the writer expected
			t.Errorf("%+v", task)
		}
	}
	calls := len(a.asked)
	again, err := Run(t.Context(), o)
	if err != nil || len(a.asked) != calls || fmt.Sprint(again) != fmt.Sprint(r) {
		t.Errorf("again: %d calls after %d, %+v, %v", len(a.asked), calls, again, err)
	}
	os.WriteFile(o.Out, []byte(`{"goal":"mine"}`), 0o644)
	if _, err := Run(t.Context(), o); rl.KindOf(err) != rl.Conflict {
		t.Errorf("a file of somebody's is written over: %v", err)
	}
	none(t)
}

func none(t *testing.T) {
	t.Helper()
	for range 600 {
		if child.Left() == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d processes are left", child.Left())
}

// Stopped at each of its calls in turn, and run again, it asks for nothing twice but what was under way, and comes to the same tasks.
func TestStoppedAnywhereItGoesOn(t *testing.T) {
	whole := newAuthor(t)
	o := options(whole, t.TempDir())
	o.Concurrency, o.Tasks = 1, 4
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthor(t)
	again := options(a, t.TempDir())
	again.Concurrency, again.Tasks = 1, 4
	stops := 0
	for n := 1; n <= len(whole.asked); n++ {
		ctx, cancel := context.WithCancel(t.Context())
		a.stop = func(requests int) {
			if requests == n {
				cancel()
				stops++
			}
		}
		if _, err := Run(ctx, again); err == nil && n < len(whole.asked) {
			t.Fatalf("stopped at request %d it is done", n)
		}
		cancel()
	}
	a.stop = nil
	if _, err := Run(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(again.Out)
	if string(got) != string(want) || len(a.asked) != len(whole.asked) {
		t.Errorf("%d calls, not %d; tasks:\n%s\nnot\n%s", len(a.asked), len(whole.asked), got, want)
	}
	for body, n := range a.asked {
		if n > 2 {
			t.Errorf("asked %d times: %.300s", n, body)
		}
	}
	if stops < 10 {
		t.Errorf("%d stops", stops)
	}
}

// A model that writes the same for ever is not paid for ever.
func TestABarrenWriterIsGivenUp(t *testing.T) {
	same := `{"tasks":[{"goal":"always the same","rubric":"r","tools":["price"],"answer_contains":""}]}`
	a := newAuthor(t, strings.Split(strings.Repeat(same+"\n", 99), "\n")...)
	o := options(a, t.TempDir())
	o.Solver = Model{}
	r, err := Run(t.Context(), o)
	if rl.KindOf(err) != rl.Exhausted || r.Tasks != 1 || r.Batches != 1+maxBarren || len(written1(t, o)) != 1 || !strings.HasSuffix(err.Error(), "; there are 1 of 6; the last: like another task") {
		t.Errorf("%+v, %v", r, err)
	}
	o = options(newAuthor(t), t.TempDir())
	o.MaxCalls = 3
	if r, err := Run(t.Context(), o); rl.KindOf(err) != rl.Exhausted || r.Calls > 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for start := range 3 { // an attempt that has begun has no more room than others
		a = newAuthor(t)
		if o = options(a, filepath.Dir(o.Out)); start == 0 {
			o = options(a, t.TempDir())
		}
		o.Solver.Model, o.Concurrency, o.Batch, o.MaxCalls = "endless", 4, 4, 7+start
		if r, err := Run(t.Context(), o); rl.KindOf(err) != rl.Exhausted || r.Calls > o.MaxCalls || len(a.asked) > o.MaxCalls {
			t.Errorf("%d requests, %+v, %v", len(a.asked), r, err)
		}
	}
}

// A task that the servers cannot have is the writer's to mend, and not the end of the work.
func TestATaskThatDoesNotSuit(t *testing.T) {
	a := newAuthor(t, `{"tasks":[{"goal":"what does tea cost?","rubric":"r","tools":["price"],"files":[{"path":"shelf","content":"x"}],"answer_contains":""}]}`)
	o := options(a, t.TempDir())
	o.Tasks, o.Env.MCP.Command, o.Env.MCP.Files = 2, o.Env.MCP.Command+" {dir}/calls", t.TempDir()
	if err := os.Mkdir(filepath.Join(o.Env.MCP.Files, "shelf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Env.MCP.Files, "shelf", "a"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), o); err != nil || r.Tasks != 2 || r.Invalid != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for body := range a.asked {
		if strings.Contains(body, "task 1: env.mcp.files: the file shelf of the task") {
			return
		}
	}
	t.Error("the writer is not told")
}
