package simjudge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// played is an episode of the order desk, by the reference with some of its calls changed.
func played(t testing.TB, task rl.Task, change func(turn int, action *rl.Message) (skip bool)) *rl.Trajectory {
	t.Helper()
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	env := world.New()
	o, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	seen := append([]rl.Message{{Role: rl.System, Content: env.Spec().System}}, o.Messages...)
	next, x := seen, &rl.Trajectory{Schema: rl.TrajectorySchema, Task: task, Stop: rl.MaxTurns}
	act := world.Reference(task)
	for turn := 0; turn < 12 && x.Stop != rl.Answered; turn++ {
		action := act(seen)
		if change(turn, &action) {
			break
		}
		r, err := env.Step(t.Context(), envs.Call{ToolCall: action.ToolCalls[0]})
		if err != nil {
			t.Fatal(err)
		}
		x.Turns = append(x.Turns, rl.Turn{Observation: rl.Observation{Messages: next}, Action: rl.Action{Message: action}})
		next = []rl.Message{{Role: rl.ToolRole, Content: r.Content, ToolCallID: action.ToolCalls[0].ID}}
		seen = append(append(seen, action), next...)
		if r.Done {
			x.Stop = rl.Answered
		}
	}
	x.Closing.Messages = next
	if x.Outcome, err = env.Score(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x
}

// wrong answers with a place where the order is not.
func wrong(n int) func(int, *rl.Message) bool {
	return func(_ int, action *rl.Message) bool {
		if c := &action.ToolCalls[0]; c.Name == "answer" {
			c.Arguments = rl.CanonicalJSON(map[string]string{"place": fmt.Sprintf("Nowhere %d", n)})
		}
		return false
	}
}

// wordy is right, with words of its own.
func wordy(n int) func(int, *rl.Message) bool {
	return func(turn int, action *rl.Message) bool {
		action.Content = fmt.Sprintf("try %d, call %d", n, turn)
		return false
	}
}

// group is four right attempts and four wrong ones at a task.
func group(t testing.TB, index int) rl.Group {
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	task := world.Task(rl.Train, index)
	g := rl.Group{Task: task, Failed: make([]string, 8)}
	world.Brief(&g)
	for n := range 4 {
		g.Trajectories = append(g.Trajectories, played(t, task, wordy(n)), played(t, task, wrong(n)))
	}
	return g
}

func serve(t testing.TB, o Options) (*Judge, *reward.Client) {
	t.Helper()
	if o.World, o.Tasks = "orders", (rl.TaskRange{First: 0, Last: 999}); o.Key == "" {
		o.Key = "sk-simulated"
	}
	j, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(j)
	t.Cleanup(server.Close)
	return j, reward.NewClient(rl.RewardConfig{URL: server.URL + "/v1", Concurrency: 8, USDIn: 1, Timeout: rl.Duration(time.Minute)}, "sk-simulated", nil)
}

func judge(t testing.TB, client *reward.Client, g rl.Group, change func(*rl.RewardConfig)) (rl.Scores, error) {
	t.Helper()
	c := rl.RewardConfig{Use: "judge", Model: "m", Passes: 2, Order: "shuffled", Ties: "allowed", PerTurn: "off", ResultChars: 4000, Context: 128_000, ReplyTokens: 8192}
	if change != nil {
		change(&c)
	}
	n := 0
	score, err := reward.New(reward.Parts{Config: c, Seed: 3, Ask: func(ctx context.Context, q reward.Question) (reward.Reply, error) {
		n++
		return client.Ask(ctx, fmt.Sprintf("%s/%d", g.Task.ID, n), q)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return score(t.Context(), g)
}

// Without mistakes a right attempt beats four of the other seven and ties with three: (4 + 3/2)/7; a wrong one ties with three.
func TestTheTruth(t *testing.T) {
	j, client := serve(t, Options{})
	for index := range 40 {
		g := group(t, index)
		s, err := judge(t, client, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range s.Scores {
			if want := map[float64]float64{1: 5.5 / 7, 0: 1.5 / 7}[g.Trajectories[i].Outcome.Value]; !x.Scored() || x.Value != want {
				t.Errorf("task %d, member %d with outcome %v: %+v", index, i, g.Trajectories[i].Outcome.Value, x)
			}
		}
		if s.Spent.Calls != 2 || s.Spent.PromptTokens < 1000 || s.Spent.ReplyTokens < 50 || s.Spent.USD <= 0 {
			t.Errorf("%+v", s.Spent)
		}
	}
	if got := j.Stats(); got != (Stats{Asked: 80, Paid: 80}) {
		t.Errorf("%+v", got)
	}
}

// Of a fragile order the place is not enough: the judge knows, since the environment does.
func TestItKnowsWhatTheEnvironmentKnows(t *testing.T) {
	world, _ := envs.Get("orders")
	task := world.Task(rl.Train, 0)
	for i := 0; task.Kind != "fragile"; i++ {
		task = world.Task(rl.Train, i)
	}
	place := ""
	careful := played(t, task, func(_ int, a *rl.Message) bool { place = string(a.ToolCalls[0].Arguments); return false })
	hasty := played(t, task, func(_ int, a *rl.Message) bool {
		if a.ToolCalls[0].Name == "inspect" {
			a.ToolCalls[0].Name, a.ToolCalls[0].Arguments = "answer", []byte(place)
		}
		return false
	})
	silent := played(t, task, func(turn int, _ *rl.Message) bool { return turn == 1 })
	_, client := serve(t, Options{})
	s, err := judge(t, client, rl.Group{Task: task, Trajectories: []*rl.Trajectory{hasty, careful, silent}, Failed: make([]string, 3)}, func(c *rl.RewardConfig) { c.PerTurn = "asked" })
	if err != nil || careful.Outcome.Value != 1 || hasty.Outcome.Value != 0 || s.Scores[0].Value != .25 || s.Scores[1].Value != 1 || s.Scores[2].Value != .25 {
		t.Errorf("%+v, %v", s, err)
	}
	if len(s.Scores[1].Turns) != len(careful.Turns) || len(s.Scores[2].Turns) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestForcedTiesAreBroken(t *testing.T) {
	_, client := serve(t, Options{})
	s, err := judge(t, client, group(t, 5), func(c *rl.RewardConfig) { c.Ties, c.Passes = "forced", 1 })
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]bool{}
	for i, x := range s.Scores {
		if seen[x.Value] || (x.Value > .5) != (i%2 == 0) {
			t.Errorf("member %d: %v", i, x.Value)
		}
		seen[x.Value] = true
	}
}

// A call is paid for once, however often it is sent; its key is no other call's.
func TestOneKeyIsPaidOnce(t *testing.T) {
	j, client := serve(t, Options{Noise: .5, Delay: 20 * time.Millisecond})
	var q reward.Question
	score, _ := reward.New(reward.Parts{Config: rl.RewardConfig{Use: "judge", Passes: 1}, Ask: func(_ context.Context, asked reward.Question) (reward.Reply, error) {
		q = asked
		return reward.Reply{}, rl.Errorf(rl.Unavailable, "judge", "not now")
	}})
	score(t.Context(), group(t, 1))
	var all sync.WaitGroup
	texts := make([]string, 6)
	for i := range texts {
		all.Go(func() {
			r, err := client.Ask(t.Context(), "one", q)
			if texts[i] = r.Text; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if texts[0] == "" || strings.Count(strings.Join(texts, ""), texts[0]) != 6 || j.Stats() != (Stats{Asked: 6, Paid: 1}) {
		t.Errorf("%+v, %q", j.Stats(), texts)
	}
	if r, err := client.Ask(t.Context(), "another", q); err != nil || r.Text != texts[0] || j.Stats().Paid != 2 {
		t.Errorf("the same question under another key: %+v, %v, %+v", r, err, j.Stats())
	}
	q.Seed++
	if _, err := client.Ask(t.Context(), "one", q); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "this Idempotency-Key was another call's") {
		t.Errorf("%v", err)
	}
}

func TestItFailsAsItIsTold(t *testing.T) {
	j, client := serve(t, Options{Limited: 2, RetryAfter: 1500 * time.Millisecond, Bad: 1})
	for range 2 {
		_, err := judge(t, client, group(t, 2), nil)
		if e, ok := errors.AsType[*rl.Error](err); !ok || e.Kind != rl.Unavailable || e.RetryAfter != 1500*time.Millisecond {
			t.Errorf("%v", err)
		}
	}
	s, err := judge(t, client, group(t, 2), nil)
	if err != nil || !s.Scores[7].Scored() || len(s.Notes) != 1 || !strings.HasSuffix(s.Notes[0], "is missing") || j.Stats() != (Stats{Asked: 5, Paid: 3}) {
		t.Errorf("%+v, %v, %+v", s, err, j.Stats())
	}
}

func TestItRefusesWhatItCannotJudge(t *testing.T) {
	j, client := serve(t, Options{})
	foreign := reward.Question{Messages: []rl.Message{{Role: rl.System, Content: "hi"}, {Role: rl.User, Content: "hi"}}}
	if _, err := client.Ask(t.Context(), "a", foreign); !errors.Is(err, endpoint.ErrConversation) || !strings.Contains(err.Error(), "only longhaul's own prompts") {
		t.Errorf("%v", err)
	}
	s, err := judge(t, client, group(t, 1000), nil) // not among its tasks
	if err != nil || !strings.Contains(s.Scores[0].Unscored, "none of the tasks 0-999 of orders begins with") || j.Stats().Paid != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	other, stranger := serve(t, Options{Key: "sk-another"})
	if _, err := judge(t, stranger, group(t, 1), nil); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "401") || other.Stats().Asked != 0 {
		t.Errorf("%v", err)
	}
	for _, o := range []Options{{World: "orders", Noise: 1.5}, {World: "orders", Bias: -1}, {World: "chess"}} {
		if _, err := New(t.Context(), o); rl.KindOf(err) != rl.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if models, err := client.Models(t.Context()); err != nil || strings.Join(models, " ") != model {
		t.Errorf("%q, %v", models, err)
	}
}

// Of 100,000 pairs, noise .15 mistakes 15% and bias .1 gives one in ten to the first, whatever is true.
func TestRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 100_000
	for _, c := range []struct {
		o                  Options
		first, later       float64
		better, tie, worse float64
	}{
		{Options{}, 1, 0, 1, 0, 0},
		{Options{}, 0, 0, 0, 1, 0},
		{Options{Noise: .15}, 1, 0, .85, .075, .075},
		{Options{Noise: .15}, 0, 0, .075, .85, .075},
		{Options{Bias: .1}, 0, 1, .1, 0, .9},
		{Options{Bias: .1, Noise: .15}, 0, 1, .1 + .9*.075, .9 * .075, .9 * .85},
	} {
		got := map[int]float64{}
		for range n {
			got[c.o.relation(c.first, c.later, rng)] += 1. / n
		}
		for relation, want := range map[int]float64{1: c.better, 0: c.tie, -1: c.worse} {
			if d := got[relation] - want; d > .005 || d < -.005 {
				t.Errorf("noise %v, bias %v, %v and %v: %d in %.4f, want %.4f", c.o.Noise, c.o.Bias, c.first, c.later, relation, got[relation], want)
			}
		}
	}
}

// The whole way: of pairs of a right and a wrong attempt, 15% are not told as they are.
func TestNoiseSurvivesTheWholeWay(t *testing.T) {
	_, client := serve(t, Options{Noise: .15})
	told, n := 0.0, 0.0
	for index := range 300 {
		g := group(t, index)
		g.Trajectories = g.Trajectories[:2]
		s, err := judge(t, client, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		for pass := range 2 {
			n++
			if s.Scores[0].Metrics[fmt.Sprintf("judge_pass_%d", pass+1)] == 1 {
				told++
			}
		}
	}
	if share := told / n; share < .80 || share > .90 {
		t.Errorf("%.3f", share)
	}
}

func BenchmarkAnswer(b *testing.B) {
	j, err := New(b.Context(), Options{World: "orders", Tasks: rl.TaskRange{First: 0, Last: 9999}})
	if err != nil {
		b.Fatal(err)
	}
	var q reward.Question
	score, _ := reward.New(reward.Parts{Config: rl.RewardConfig{Use: "judge", Passes: 1}, Ask: func(_ context.Context, asked reward.Question) (reward.Reply, error) {
		q = asked
		return reward.Reply{}, rl.Errorf(rl.Unavailable, "judge", "not now")
	}})
	score(b.Context(), group(b, 9876))
	body := string(rl.CanonicalJSON(q))
	for b.Loop() {
		w := httptest.NewRecorder()
		j.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
