package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// walkStep is an environment of which a test says what each step gives, by the tool and the number of the step.
var walkStep func(ctx context.Context, tool string, n int) (envs.Result, error)

func init() {
	envs.Register(envs.World{Name: "walk", New: func() envs.Env { return &walking{} }})
}

type walking struct {
	faultyEnv
	steps int
}

func (*walking) Spec() envs.Spec {
	tool := func(name string, e envs.Effect) envs.Tool {
		return envs.Tool{Tool: rl.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}, Effect: e}
	}
	return envs.Spec{Tools: []envs.Tool{tool("go", envs.EpisodeLocal), tool("pay", envs.ExternalOnce)}}
}

func (w *walking) Snapshot(context.Context) ([]byte, error) { return nil, envs.ErrNoSnapshot }

func (w *walking) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	w.steps++
	return walkStep(ctx, call.Name, w.steps)
}

// openWalk stores a run of one episode of some turns; the policy calls tool in each.
func openWalk(t *testing.T, turns int, tool string) *bench {
	b := open(t, "t")
	b.change(t, func(c *rl.Config) { c.Env.Use, c.Env.MaxTurns = "walk", turns })
	b.answer = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		io.WriteString(w, called(tool))
		return true
	}
	walkStep = func(_ context.Context, _ string, n int) (envs.Result, error) {
		return envs.Result{Content: fmt.Sprint("step ", n)}, nil
	}
	return b
}

// called is a policy's answer that calls a tool.
func called(tool string) string {
	return fmt.Sprintf(`{"model":"faults@000000","prompt_token_ids":[1],"choices":[{"message":{"content":"","tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":"{}"}}]},"token_ids":[2],"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"tool_calls"}]}`, tool)
}

// An interrupted attempt is followed by one that goes on at the turn in which it was: no action is sampled twice, and
// the record is that of an undisturbed episode.
func TestResumeAtTheTurn(t *testing.T) {
	whole := openWalk(t, 6, "go")
	whole.played(t, 1, nil)
	want, err := whole.store.Get(t.Context(), whole.trajectoryKey("t"))
	if err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop <= 6; stop++ {
		b := openWalk(t, 6, "go")
		dying, cancel := context.WithCancel(t.Context())
		plain := walkStep
		walkStep = func(ctx context.Context, tool string, n int) (envs.Result, error) {
			if n == stop {
				cancel()
				return envs.Result{}, ctx.Err()
			}
			return plain(ctx, tool, n)
		}
		if _, err := b.runTrajectories(dying, b.in, now()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		walkStep = plain
		if stop%2 == 0 {
			b.restart() // another process
		}
		b.played(t, 1, nil)
		if n := b.asked("t"); n != 6 {
			t.Errorf("stopped in step %d: asked %d times", stop, n)
		}
		if got, err := b.store.Get(t.Context(), b.trajectoryKey("t")); err != nil || string(got) != string(want) {
			t.Errorf("stopped in step %d: another trajectory (%v)", stop, err)
		}
	}
}

// An environment that fails is tried again from where the episode was, too.
func TestTriesGoOn(t *testing.T) {
	b := openWalk(t, 4, "go")
	failed := 0
	plain := walkStep
	walkStep = func(ctx context.Context, tool string, n int) (envs.Result, error) {
		if n == 3 && failed < 2 {
			failed++
			return envs.Result{}, errors.New("connection reset")
		}
		return plain(ctx, tool, n)
	}
	b.played(t, 1, nil)
	if n := b.asked("t"); n != 4 || failed != 2 {
		t.Errorf("asked %d times, failed %d times", n, failed)
	}
}

// An environment that says something else after an interruption: the episode begins anew, the policy sees only the new
// past, and the count says so. One that never says the same twice fails as often as any other.
func TestDivergence(t *testing.T) {
	for name, c := range map[string]struct {
		fails  int // interruptions
		again  int
		failed map[rl.LeftOut]int
	}{
		"once":   {1, 1, nil},
		"always": {100, 2, map[rl.LeftOut]int{rl.EnvFailed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b := openWalk(t, 4, "go")
			steps, fails := 0, 0
			walkStep = func(_ context.Context, _ string, n int) (envs.Result, error) {
				steps++
				if n == 3 && fails < c.fails {
					fails++
					return envs.Result{}, errors.New("connection reset")
				}
				return envs.Result{Content: fmt.Sprint("step ", steps)}, nil
			}
			out, err := b.runTrajectories(t.Context(), b.in, now())
			if err != nil || out.Again != c.again || !maps.Equal(out.Failed, c.failed) {
				t.Fatalf("%+v %v", out, err)
			}
			if c.failed != nil {
				if f := b.left(t, "t"); !strings.Contains(f.Why, "connection reset") {
					t.Error(f)
				}
				return
			}
			got, err := b.store.Trajectory(t.Context(), b.trajectoryKey("t"))
			if err != nil || got.Turns[1].Observation.Messages[0].Content != "step 5" {
				t.Errorf("%+v %v", got, err) // steps 1-3 were the first try, 4 the replay that diverged
			}
		})
	}
}

// A call that must not be repeated, and whose outcome nobody knows, voids the episode. It is sent once.
func TestUncertainCallVoids(t *testing.T) {
	b := openWalk(t, 3, "pay")
	var mu sync.Mutex
	sent := []int{}
	walkStep = func(_ context.Context, _ string, n int) (envs.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, n)
		if n == 2 {
			return envs.Result{}, errors.New("connection reset")
		}
		return envs.Result{Content: "paid"}, nil
	}
	for range 2 {
		b.played(t, 0, map[rl.LeftOut]int{rl.Voided: 1})
	}
	if f := b.left(t, "t"); !slices.Equal(sent, []int{1, 2}) || !strings.Contains(f.Why, "pay, call faults/1/t/0/1/0: it is not known whether the call was executed") {
		t.Error(sent, f)
	}
}

// A segment that rots is named in the log, and costs its turns.
func TestDamagedJournal(t *testing.T) {
	b := openWalk(t, 3, "go")
	b.played(t, 1, nil)
	for _, key := range []string{b.trajectoryKey("t")} {
		if err := b.store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for o, err := range b.store.List(t.Context(), store.JournalPrefix(run, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if _, err := b.store.Put(t.Context(), o.Key, []byte("rot")); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.restart()
	b.played(t, 1, nil)
	if asked := b.asked("t"); asked <= 3 || asked > 6 {
		t.Errorf("asked %d times", asked)
	}
}

// What is above Temporal's limit for a payload (2 MB for one, 4 MB for a message) goes through the store: a huge tool
// result, and a failure with as many words. What history is told stays small.
func TestHugeResults(t *testing.T) {
	const huge = 5 << 20
	b := openWalk(t, 2, "go")
	walkStep = func(context.Context, string, int) (envs.Result, error) {
		return envs.Result{Content: strings.Repeat("x", huge)}, nil
	}
	out, err := b.runTrajectories(t.Context(), b.in, now())
	if err != nil || out.Episodes != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	if said := rl.CanonicalJSON(out); len(said) > 4096 {
		t.Errorf("%d bytes for history", len(said))
	}
	b.restart()
	got, err := b.trajectory(t.Context(), b.store, b.trajectoryKey("t"))
	if err != nil || len(got.Turns[1].Observation.Messages[0].Content) != huge {
		t.Fatal(err)
	}
	b = openWalk(t, 2, "go")
	walkStep = func(context.Context, string, int) (envs.Result, error) {
		return envs.Result{}, rl.Errorf(rl.Invalid, "environment walk", "%s", strings.Repeat("y", huge))
	}
	b.played(t, 0, map[rl.LeftOut]int{rl.EnvFailed: 1})
	if f := b.left(t, "t"); len(f.Why) > 2048 || !strings.HasPrefix(f.Why, "environment walk: yyy") {
		t.Errorf("%d bytes of %.40s", len(f.Why), f.Why)
	}
}

// An activity that is delivered twice, or whose first worker is only thought dead: both play, one record counts, and it
// is that of an undisturbed episode.
func TestTwoAttemptsAtOnce(t *testing.T) {
	whole := openWalk(t, 6, "go")
	whole.played(t, 1, nil)
	want, err := whole.store.Get(t.Context(), whole.trajectoryKey("t"))
	if err != nil {
		t.Fatal(err)
	}
	b := openWalk(t, 6, "go")
	began := now()
	other := &Activities{OpenStore: b.OpenStore} // another process
	var wg sync.WaitGroup
	for i, a := range []*Activities{b.Activities, other, b.Activities} {
		wg.Go(func() {
			out, err := a.runTrajectories(t.Context(), b.in, began+int64(i))
			if err != nil || out.Episodes != 1 || out.Turns != 6 {
				t.Errorf("attempt %d: %+v %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if got, err := b.store.Get(t.Context(), b.trajectoryKey("t")); err != nil || string(got) != string(want) {
		t.Errorf("another trajectory (%v)", err)
	}
	asked := b.asked("t")
	b.restart()
	b.played(t, 1, nil)
	if b.asked("t") != asked {
		t.Error("a recorded episode was played again")
	}
}

// Two attempts are alive at once, and both want to pay: every call is sent once, whoever loses is voided, and what the
// winner records counts.
func TestTwoAttemptsPayOnce(t *testing.T) {
	b := openWalk(t, 4, "pay")
	var mu sync.Mutex
	sent := map[int]int{} // by step
	walkStep = func(_ context.Context, _ string, n int) (envs.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		sent[n]++
		return envs.Result{Content: "paid"}, nil
	}
	began := now()
	var wg sync.WaitGroup
	for i, a := range []*Activities{b.Activities, {OpenStore: b.OpenStore}} {
		wg.Go(func() {
			if _, err := a.runTrajectories(t.Context(), b.in, began+int64(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range sent {
		total += n
	}
	claims := 0
	for o, err := range b.store.List(t.Context(), store.GroupPrefix(run, 1, "t")) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(o.Key, "/claims/") {
			claims++
		}
	}
	if total != claims || total > 4 || total == 0 {
		t.Errorf("%d calls were sent under %d claims: %v", total, claims, sent)
	}
}
