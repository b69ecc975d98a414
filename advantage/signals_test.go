package advantage

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

// By counting: of 4 tries 1 solved; of the 6 pairs 3 have it.
func TestPassAt(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		want    float64
	}{
		{4, 0, 1, 0}, {4, 1, 1, .25}, {4, 1, 2, .5}, {4, 1, 4, 1}, {4, 4, 1, 1}, {8, 2, 4, 1 - 15./70}, {8, 3, 2, 1 - 10./28}, {1, 0, 1, 0}, {1, 1, 1, 1},
		{200, 13, 100, .9999194972}} {
		if got := PassAt(c.n, c.c, c.k); math.Abs(got-c.want) > 1e-7 {
			t.Errorf("pass@%d of %d of %d is %.9f, not %.9f", c.k, c.c, c.n, got, c.want)
		}
	}
}

// Without bias: over all ways to draw n tries from a task that a share p solves, pass@k is 1 - (1-p)^k on average.
func TestPassAtIsUnbiased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.IntRange(1, 12).Draw(t, "n"), rapid.Float64Range(0, 1).Draw(t, "p")
		k := rapid.IntRange(1, n).Draw(t, "k")
		mean, ways := 0.0, 1.0
		for c := 0; c <= n; c++ {
			mean += ways * math.Pow(p, float64(c)) * math.Pow(1-p, float64(n-c)) * PassAt(n, c, k)
			ways *= float64(n-c) / float64(c+1)
		}
		if want := 1 - math.Pow(1-p, float64(k)); math.Abs(mean-want) > 1e-9 {
			t.Fatalf("pass@%d of %d at %g is %g on average, not %g", k, n, p, mean, want)
		}
	})
}

func TestSignals(t *testing.T) {
	var groups []rl.Group
	var scores []rl.Scores
	for _, values := range [][]float64{{1, 0, 0, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {.5, .5, .5, .5}} {
		g, s := group(rl.TaskID("train-"+string(rune('a'+len(groups)))), values...)
		groups, scores = append(groups, g), append(scores, s)
	}
	scores[0].Scores[0].Metrics = map[string]float64{"reward_exact": 1, "reward_format": .5, "turns": 9}
	scores[0].Scores[1].Metrics = map[string]float64{"reward_exact": 0, "reward_format": math.NaN()}
	scores[1].Scores[2].Metrics = map[string]float64{"reward_exact": .5}
	scores[1].Reward = "judge" // but it was not asked: all read alike
	scores[3].Reward, scores[3].Spent.Calls = "judge", 2
	groups[3].Trajectories[0].Stop = rl.MaxTurns
	groups[2].Trajectories[3], groups[2].Failed[3] = nil, "failed_environment: gone"
	groups[1].Trajectories[3] = trajectory("train-b", 3, update-4)
	groups[1].Trajectories[3].Outcome.Value = 1
	batch, ledger, _, err := Assemble(run, update, groups, scores, config())
	if err != nil {
		t.Fatal(err)
	}
	want := rl.Signals{
		Rewards: map[string]float64{"reward_exact": .5, "reward_format": .5},
		PassAt:  []rl.PassRate{{K: 1, Rate: .375, Groups: 4}, {K: 2, Rate: (5./6 + 1) / 4, Groups: 4}, {K: 4, Rate: 2. / 3, Groups: 3}},
		// Four members of three tokens, at .5 or -.5 (dr_grpo): an edge counts above itself.
		AdvantageTokens: []int{0, 0, 0, 6, 0, 0, 0, 6, 0, 0},
		AlikeSolved:     .25, AlikeFailed: .25, JudgedAlike: .25,
		Turns: 2, Tokens: 3, Truncated: 1. / 15, Stale: 1. / 16, Lost: 1. / 16, Rows: 4,
	}
	got := *ledger.Signals
	for i := range got.PassAt {
		if i < len(want.PassAt) && math.Abs(got.PassAt[i].Rate-want.PassAt[i].Rate) < 1e-12 {
			got.PassAt[i].Rate = want.PassAt[i].Rate
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if n := batch.TrainedTokens(); n != 12 {
		t.Errorf("%d trained tokens", n)
	}
}

// A judge that says itself that its scores say nothing is believed, whatever they are.
func TestSignalsOfAFlatJudgement(t *testing.T) {
	g, s := group("train-1", 1, 0, 0, 1)
	s.Flat, s.Spent.Calls = "the passes differ by as much", 2
	if _, ledger, _ := assemble(t, g, s, config()); ledger.Signals.JudgedAlike != 1 {
		t.Errorf("%+v", ledger.Signals)
	}
}

// Every trained token is in one bin, and nothing is not a number, whatever is missing.
func TestSignalsOfWhatever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, s := group("train-1", rapid.SliceOfN(rapid.Float64Range(-3, 3), 0, 6).Draw(t, "scores")...)
		for i := range g.Trajectories {
			if rapid.Bool().Draw(t, "lost") {
				g.Trajectories[i] = nil
			}
		}
		cfg := config()
		cfg.Group.Quorum = 0
		batch, ledger, _, err := Assemble(run, update, []rl.Group{g}, []rl.Scores{s}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for _, n := range ledger.Signals.AdvantageTokens {
			counted += n
		}
		if counted != batch.TrainedTokens() {
			t.Fatalf("%d tokens in the bins of %d", counted, batch.TrainedTokens())
		}
		rl.CanonicalJSON(ledger) // panics on what is not a number
		for i, r := range ledger.Signals.PassAt {
			if i > 0 && r.Rate < ledger.Signals.PassAt[i-1].Rate-1e-12 {
				t.Fatalf("more tries solve less: %+v", ledger.Signals.PassAt)
			}
		}
	})
}

// Of five turns that go on from others two begin new rows, each for its own reason. Conversations of an agent that begin anew are no
// such turns, and failed rollouts have none.
func TestSignalsOfBrokenPrefixes(t *testing.T) {
	g, s := group("train-1", 1, 0, 1, 0)
	for i, spoil := range []func(*rl.Action){
		func(a *rl.Action) { a.Kept-- }, // the last token of the action before is another
		func(a *rl.Action) { a.Kept = 0 },
	} {
		turns := g.Trajectories[i].Turns
		turns[1].Action.Prompt = []int32{99, 98}
		spoil(&turns[1].Action)
	}
	long := g.Trajectories[2]
	for range 2 {
		next := long.Turns[1]
		next.Action.Kept = 0
		for _, turn := range long.Turns {
			next.Action.Kept += len(turn.Action.Prompt) + len(turn.Action.Tokens)
		}
		long.Turns = append(long.Turns, next)
	}
	none := -1
	for range 3 {
		helper := long.Turns[0]
		helper.From = &none
		long.Turns = append(long.Turns, helper)
	}
	g.Trajectories[3], g.Failed[3] = nil, "failed_environment: gone"
	_, ledger, _, err := Assemble(run, update, []rl.Group{g}, []rl.Scores{s}, config())
	if err != nil {
		t.Fatal(err)
	}
	got := ledger.Signals
	if want := (map[rl.Break]float64{rl.EndReplaced: .2, rl.HistoryRewritten: .2}); got.Broken != .4 || !reflect.DeepEqual(got.Breaks, want) {
		t.Errorf("%v of the later turns, %v", got.Broken, got.Breaks)
	}
}
