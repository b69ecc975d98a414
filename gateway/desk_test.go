package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The agent of these tests is this very program, started as its own process: it works the order desk with plain HTTP.

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		os.Exit(deskAgent(os.Args[2]))
	}
	os.Exit(m.Run())
}

// taught is a small embedded policy after a small part of the demo's warm-up: it has the form of calls, and little else.
var taught = sync.OnceValue(func() *nn.Model {
	trainer := nn.NewTrainer(nn.New(nn.Config{V: tiny.Vocab, D: 32, L: 1, F: 64, Ctx: 160}, 1), 2)
	trainer.LearningRate = 1e-2
	world := orders()
	var tools []rl.Tool
	for _, tool := range world.New().Spec().Tools {
		tools = append(tools, tool.Tool)
	}
	for step := range 60 {
		var examples []*nn.Example
		for i := range 16 {
			shown, err := world.Demonstrate(context.Background(), uint64(16*step+i))
			if err != nil {
				panic(err)
			}
			examples = append(examples, tiny.EncodeDemonstration(shown, tools))
		}
		if _, err := trainer.Update(examples); err != nil {
			panic(err)
		}
	}
	return trainer.Model
})

func orders() envs.World {
	w, err := envs.Get("orders")
	if err != nil {
		panic(err)
	}
	return w
}

// desk is a gateway with an agent for the order desk, played with the embedded policy.
type desk struct {
	t      testing.TB
	server *Server
	client *policy.Client
	agent  *Agent
	world  envs.World
}

func newDesk(t testing.TB, mode string) *desk {
	t.Helper()
	s, err := Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	embedded := tiny.NewServer(func(context.Context, rl.Version) (*nn.Model, error) { return taught(), nil }, 2)
	t.Cleanup(func() {
		s.Close()
		embedded.Close()
	})
	var lines strings.Builder
	for i := range 8 {
		fmt.Fprintf(&lines, `{"goal": "where is the order of task %d?", "data": {"index": %d}}`+"\n", i, i)
	}
	lines.WriteString(`{"split": "eval", "goal": "where is another?"}`)
	file := filepath.Join(t.TempDir(), "tasks.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	heard := filepath.Join(t.TempDir(), "heard") // is there when the slow policy was asked
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := envs.Open(t.Context(), rl.EnvConfig{Use: Kind, Agent: rl.AgentConfig{Command: "'" + self + "' agent " + mode + " '" + heard + "'", Goal: "environment", Tasks: file, Output: 4096}})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if mode == "impatient" && n == 2 {
			if err := os.WriteFile(heard, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		if mode == "impatient" && n > 1 {
			<-r.Context().Done() // a policy that is slow, or paused
			return
		}
		embedded.ServeHTTP(w, r)
	})
	return &desk{t: t, server: s, world: w, agent: w.New().(*Agent),
		client: policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: handler}, Splice: true, Concurrency: 64})}
}

func (d *desk) options(task int) rollout.Options {
	t := d.world.Task(rl.Train, task)
	return rollout.Options{
		Episode: rl.EpisodeID{Run: "run", Update: 1, Task: t.ID, Member: 3}, Task: t, Model: "run@000001", Version: "run@000001",
		Temperature: 1, MaxTokens: 8, MaxTurns: 8, EpisodeTimeout: time.Minute, TurnTimeout: 20 * time.Second, Training: true, Seed: 7,
	}
}

// deskAgent plays the task that it is told, and reports its score. Any other mode than chat is a way to fail, before or after
// the first answer.
func deskAgent(mode string) int {
	if first, ok := strings.CutPrefix(mode, "before-"); ok {
		return misbehave(first)
	}
	var told struct{ Index int }
	if err := json.Unmarshal([]byte(os.Getenv("LONGHAUL_TASK")), &told); err != nil {
		fmt.Fprintln(os.Stderr, "no task:", err)
		return 2
	}
	env := orders().New()
	task := orders().Task(rl.Train, told.Index)
	first, err := env.Reset(context.Background(), task)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	messages := []any{map[string]any{"role": "system", "content": env.Spec().System}}
	for _, m := range first.Messages {
		messages = append(messages, map[string]any{"role": m.Role, "content": m.Content})
	}
	var tools []any
	for _, t := range env.Spec().Tools {
		tools = append(tools, map[string]any{"type": "function", "function": t.Tool})
	}
	for range 20 {
		m, err := chat(http.DefaultClient, messages, tools)
		if err != nil {
			fmt.Fprintln(os.Stderr, "the agent:", err)
			return 1
		}
		if mode != "chat" {
			return misbehave(mode)
		}
		messages = append(messages, m)
		if len(m.ToolCalls) == 0 {
			messages = append(messages, map[string]any{"role": "user", "content": "bad call"})
		}
		for _, c := range m.ToolCalls {
			call := rl.ToolCall{Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)}
			r, err := env.Step(context.Background(), envs.Call{ToolCall: call})
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 2
			}
			if r.Done {
				s, _ := env.Score(context.Background())
				return tell(rl.CanonicalJSON(map[string]any{"score": s.Value, "reason": s.Reason}))
			}
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": c.ID, "content": r.Content})
		}
	}
	return 0
}

// misbehave ends the agent in some other way than its work.
func misbehave(mode string) int {
	switch mode {
	case "signal":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang": // with children, one of which leaves the group
		exec.Command("sleep", "600").Start()
		away := exec.Command("sleep", "600")
		away.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		away.Start()
		select {}
	case "flood":
		for range 1 << 12 {
			fmt.Println(strings.Repeat("a lot of output, ", 1<<8))
		}
		return tell([]byte(`{"score": 0.5, "reason": "told at the end"}`))
	case "claim": // as one whose policy has answered with this
		fmt.Println(`{"score": 1000}`)
		return 0
	case "half-score":
		return tell([]byte(`{"score": `))
	case "wrapped": // as npx and shells say of what they started
		return 128 + 9
	case "impatient": // a client that waits no longer
		quick := http.Client{Timeout: time.Second}
		for n := 0; n < 2 || !there(os.Args[3]); n++ { // until the policy has heard of it
			chat(&quick, []any{map[string]any{"role": "user", "content": "slowly"}}, nil)
		}
		fmt.Fprintln(os.Stderr, "Request timed out.")
		return 1
	}
	if secret := os.Getenv("TOKEN"); secret != "" { // as clients of HTTP do
		fmt.Println("401: bad key", secret, os.Getenv("OPENAI_API_KEY"))
		fmt.Fprintln(os.Stderr, "401: bad key", secret)
	}
	fmt.Fprintln(os.Stderr, "ends as", mode)
	status, _ := strconv.Atoi(mode)
	return status
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// tell writes the agent's own score.
func tell(score []byte) int {
	if err := os.WriteFile(filepath.Join(os.Getenv("LONGHAUL_DIR"), own), score, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

type agentMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

func chat(client *http.Client, messages, tools []any) (m agentMessage, err error) {
	body, err := json.Marshal(map[string]any{"model": "gpt-x", "messages": messages, "tools": tools})
	if err != nil {
		return m, err
	}
	r, err := http.NewRequest("POST", os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return m, err
	}
	r.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	res, err := client.Do(r)
	if err != nil {
		return m, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		return m, fmt.Errorf("%d: %s %v", res.StatusCode, b, err)
	}
	var answer struct {
		Choices []struct{ Message agentMessage }
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return m, err
	}
	return answer.Choices[0].Message, nil
}
