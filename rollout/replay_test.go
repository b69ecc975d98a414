package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// wandering plays the order desk with the request's seed: mostly like the reference, else anything, several calls
// at once and unreadable ones included.
func wandering(w envs.World, task rl.Task) func(asked) wireMessage {
	play := reference(w, task)
	return func(q asked) wireMessage {
		rng := rand.New(rand.NewPCG(q.Seed, 0))
		next := play(q)
		next.ToolCalls[0].ID = ""
		switch rng.IntN(8) {
		case 0:
			return says("let me think <&>")
		case 1:
			return says("", "find_order", `{"order": `)
		case 2:
			return says("both", "inspect", `{"box": "A<1"}`, "find_order", `{"order": "07"}`)
		case 3:
			return says("", "track_box", `{"box": 12345678901234567890}`)
		}
		return next
	}
}

// throughJSON is what a journal gives back.
func throughJSON(t interface{ Fatal(...any) }, turns []rl.Recorded) (out []rl.Recorded) {
	b, err := json.Marshal(turns)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// recordedOf is what a journal has of finished turns.
func recordedOf(turns []rl.Turn) (out []rl.Recorded) {
	earned := 0.
	for _, t := range turns {
		out = append(out, rl.Recorded{Turn: t, Earned: earned})
		earned = t.Reward
	}
	return out
}

// journalled collects what an episode records.
func journalled(o *Options) *[]rl.Recorded {
	var journal []rl.Recorded
	o.Record = func(_ context.Context, r rl.Recorded) error {
		journal = append(journal, r)
		return nil
	}
	claimed := map[[3]int]bool{}
	o.Claim = func(_ context.Context, turn, call, try int) (bool, error) {
		at := [3]int{turn, call, try}
		first := !claimed[at]
		claimed[at] = true
		return first, nil
	}
	o.RecordResult = func(_ context.Context, turn, call int, r rl.CallResult) error {
		if journal[turn].Results == nil {
			journal[turn].Results = map[int]rl.CallResult{}
		}
		journal[turn].Results[call] = r
		return nil
	}
	return &journal
}

// Wherever an episode was interrupted, it ends as the same bytes.
func TestResumedEpisodesAreTheSame(t *testing.T) {
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := options()
		o.Task = world.Task(rl.Train, rapid.IntRange(0, 1000).Draw(t, "task"))
		o.Seed, o.MaxTurns = rapid.Uint64().Draw(t, "seed"), 12
		p := client(scripted(wandering(world, o.Task)))
		journal := journalled(&o)
		whole, err := Run(context.Background(), world.New(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(*journal) != len(whole.Turns) {
			t.Fatalf("%d turns, %d recorded", len(whole.Turns), len(*journal))
		}
		k := rapid.IntRange(0, len(*journal)).Draw(t, "recorded")
		o.Recorded, *journal = throughJSON(t, (*journal)[:k]), nil
		again, err := Run(context.Background(), world.New(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := rl.CanonicalJSON(whole), rl.CanonicalJSON(again); string(a) != string(b) {
			t.Fatalf("%s\nis not\n%s", b, a)
		}
		if len(*journal) != len(whole.Turns)-k {
			t.Fatalf("%d turns were recorded anew", len(*journal))
		}
	})
}

// A recorded version stays with its turns, so a resumed episode can span two.
func TestResumedEpisodesSpanVersions(t *testing.T) {
	p := client(scripted(inTurn(says("", "echo", `{"text":"x"}`), says("", "end", "{}"))))
	o := options()
	journal := journalled(&o)
	mustRun(t, onStage(echo), p, o)
	o.Recorded, o.Version, o.Model = (*journal)[:1], "r@000001", "r@000001"
	if got := mustRun(t, onStage(echo), p, o); got.Policy != (rl.PolicySpan{First: "r@000000", Last: "r@000001"}) {
		t.Errorf("%+v", got.Policy)
	}
}

func TestDivergenceIsCorrupt(t *testing.T) {
	p := client(scripted(inTurn(says("", "echo", `{"text":"x"}`), says("", "echo", `{"text":"y"}`), says("", "end", "{}"))))
	o := options()
	recorded := journalled(&o)
	mustRun(t, onStage(echo), p, o)
	for name, c := range map[string]struct {
		env   *stage
		spoil func(o *Options)
		want  string
	}{
		"the environment says something else": {onStage(func(_ context.Context, call envs.Call) (envs.Result, error) {
			return envs.Result{Content: "z"}, nil
		}), func(*Options) {}, "turn 1: the observation was "},
		"the environment ends sooner": {onStage(func(_ context.Context, call envs.Call) (envs.Result, error) {
			return envs.Result{Content: "x", Done: true}, nil
		}), func(*Options) {}, "turn 1: the episode ends with answered, but 3 turns were recorded"},
		"the environment pays something else": {onStage(func(ctx context.Context, call envs.Call) (envs.Result, error) {
			r, err := echo(ctx, call)
			r.Reward++
			return r, err
		}), func(*Options) {}, "turn 1: the turn before earned 0.5, and now earns 1.5"},
		"fewer turns are allowed":    {onStage(echo), func(o *Options) { o.MaxTurns = 2 }, "turn 2: the episode ends with max_turns"},
		"tokens that were not there": {onStage(echo), func(o *Options) { o.Recorded[1].Action.Kept += 1000 }, "turn 1: the action keeps 10"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Recorded = throughJSON(t, *recorded)
			c.spoil(&o)
			_, err := Run(t.Context(), c.env, p, o)
			if rl.KindOf(err) != rl.Corrupt || !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), "journal of r/1/train-1/0: "+c.want) {
				t.Error(err)
			}
		})
	}
}

// A turn that could not be committed is not acted on.
func TestNothingIsDoneBeforeItIsRecorded(t *testing.T) {
	env, o := onStage(echo), options()
	full := rl.Errorf(rl.Unavailable, "store", "disk full")
	o.Record = func(context.Context, rl.Recorded) error { return full }
	if _, err := Run(t.Context(), env, client(scripted(inTurn(says("", "end", "{}")))), o); !errors.Is(err, full) || len(env.calls) != 0 {
		t.Errorf("%v, %d calls", err, len(env.calls))
	}
}
