package advantage

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

const (
	run    = rl.RunID("orders-1")
	update = rl.UpdateNumber(5)
)

func config() rl.Config {
	return rl.Config{
		Group:     rl.GroupConfig{Size: 4, Quorum: .75, MaxStaleness: 1},
		Advantage: rl.AdvantageConfig{Use: "dr_grpo"},
	}
}

// trajectory has two turns in one row of 6 tokens, 3 of them sampled.
func trajectory(task rl.TaskID, member int, version rl.UpdateNumber) *rl.Trajectory {
	v := rl.VersionOf(run, version)
	turn := func(kept int, prompt, tokens []int32) rl.Turn {
		logprobs := slices.Repeat([]float32{-.5}, len(tokens))
		return rl.Turn{Action: rl.Action{Version: v, Kept: kept, Prompt: prompt, Tokens: tokens, LogProbs: logprobs}}
	}
	return &rl.Trajectory{
		Episode: rl.EpisodeID{Run: run, Update: update, Task: task, Member: member},
		Policy:  rl.PolicySpan{First: v, Last: v},
		Turns:   []rl.Turn{turn(0, []int32{1, 2}, []int32{3, 4}), turn(4, []int32{5}, []int32{int32(10 + member)})},
	}
}

func group(task rl.TaskID, values ...float64) (rl.Group, rl.Scores) {
	g := rl.Group{Task: rl.Task{ID: task}, Failed: make([]string, len(values))}
	s := rl.Scores{Schema: rl.ScoresSchema, Task: task, Reward: "exact"}
	for i, v := range values {
		g.Trajectories = append(g.Trajectories, trajectory(task, i, update-1))
		g.Trajectories[i].Outcome.Value = v
		s.Scores = append(s.Scores, rl.Score{Value: v})
	}
	return g, s
}

func assemble(t *testing.T, g rl.Group, s rl.Scores, cfg rl.Config) (rl.Batch, rl.Ledger, Stats) {
	t.Helper()
	batch, ledger, stats, err := Assemble(run, update, []rl.Group{g}, []rl.Scores{s}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return batch, ledger, stats
}

// A judge's scores say little about success where the environment knows it, and all there is to say where it does not.
func TestSuccessIsTheEnvironmentsWord(t *testing.T) {
	g, s := group("train-1", .9, .4, 1, 0)
	for i, outcome := range []rl.Score{{Value: 1}, {Value: 1}, {Value: 0}, {Unscored: "nobody knows"}} {
		g.Trajectories[i].Outcome = outcome
	}
	if _, _, stats := assemble(t, g, s, config()); stats.Success != .5 {
		t.Errorf("success %v, want .5", stats.Success)
	}
	g.Trajectories[2].Outcome = rl.Score{Unscored: "nobody knows"}
	if _, _, stats := assemble(t, g, s, config()); stats.Success != .75 {
		t.Errorf("success %v, want .75", stats.Success)
	}
}

func TestAssembleSpreadsAdvantagesOverSampledTokens(t *testing.T) {
	g, s := group("train-1", 1, 0, 0, 1)
	batch, ledger, stats := assemble(t, g, s, config())
	if len(batch.Samples) != 4 || !slices.Equal(batch.Versions, []rl.Version{"orders-1@000004"}) {
		t.Fatalf("%+v", batch)
	}
	for i, want := range [][]float32{{0, 0, .5, .5, 0, .5}, {0, 0, -.5, -.5, 0, -.5}, {0, 0, -.5, -.5, 0, -.5}, {0, 0, .5, .5, 0, .5}} {
		row := batch.Samples[i]
		if row.Episode.Member != i || !slices.Equal(row.Advantages, want) || !slices.Equal(row.Tokens, []int32{1, 2, 3, 4, 5, int32(10 + i)}) {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if ledger.Asked != 4 || ledger.Trained != 4 || len(ledger.LeftOut) != 0 || ledger.Tokens != 12 || !ledger.Balanced {
		t.Errorf("%+v", ledger)
	}
	if want := (Stats{Success: .5, RewardMean: .5, RewardStd: .5, Tokens: 12, Turns: 8}); stats != want {
		t.Errorf("%+v, not %+v", stats, want)
	}
	if slot := (rl.Slot{Task: "train-1", Member: 3, Tokens: 3, Turns: 2, Score: 1, Samples: 1}); ledger.Slots[3] != slot {
		t.Errorf("%+v", ledger.Slots[3])
	}
}

// spoil names one way in which a member or its group is left out, and the reason that must stand on the ledger.
var spoil = map[string]struct {
	do  func(g *rl.Group, s *rl.Scores, cfg *rl.Config)
	why []rl.LeftOut // by member; "" is trained
}{
	"a failed environment": {func(g *rl.Group, s *rl.Scores, _ *rl.Config) {
		g.Trajectories[1], g.Failed[1] = nil, "failed_environment: orders: connection refused"
		s.Scores[1] = rl.Score{Unscored: g.Failed[1]}
	}, []rl.LeftOut{"", rl.EnvFailed, "", ""}},
	"a failed policy": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[1], g.Failed[1] = nil, "failed_policy: 503"
	}, []rl.LeftOut{"", rl.PolicyFailed, "", ""}},
	"words of no kind": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[1], g.Failed[1] = nil, "cosmic ray"
	}, []rl.LeftOut{"", rl.EnvFailed, "", ""}},
	"a member that only its failure knows": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories, g.Failed[3] = g.Trajectories[:3], "failed_store: disk full"
	}, []rl.LeftOut{"", "", "", rl.StoreFailed}},
	"an unscored member": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Scores[2] = rl.Score{Unscored: "the judge named no winner"}
	}, []rl.LeftOut{"", "", rl.Unscored, ""}},
	"a score that is not a number": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Scores[2].Value = math.NaN()
	}, []rl.LeftOut{"", "", rl.Unscored, ""}},
	"a score beyond all measure": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Scores[2].Value = 1e200
	}, []rl.LeftOut{"", "", rl.Unscored, ""}},
	"a turn's reward beyond all measure": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[2].Turns[1].Reward = -1e39
	}, []rl.LeftOut{"", "", rl.Unscored, ""}},
	"a failed judge": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		for i := range s.Scores {
			s.Scores[i] = rl.Score{Unscored: "failed_judge: 500"}
		}
	}, []rl.LeftOut{rl.JudgeFailed, rl.JudgeFailed, rl.JudgeFailed, rl.JudgeFailed}},
	"too few scores": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Scores = s.Scores[:3]
	}, []rl.LeftOut{"", "", "", rl.Unscored}},
	"another task's scores": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Task = "train-2"
	}, []rl.LeftOut{rl.Unscored, rl.Unscored, rl.Unscored, rl.Unscored}},
	"a stale member": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0] = trajectory(g.Task.ID, 0, update-3)
	}, []rl.LeftOut{rl.Stale, "", "", ""}},
	"a member as old as is allowed": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0] = trajectory(g.Task.ID, 0, update-2)
	}, []rl.LeftOut{"", "", "", ""}},
	"a member of no version": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Policy.First = "gpt"
	}, []rl.LeftOut{rl.Stale, "", "", ""}},
	"a turn that a server answered with an old version": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Turns[1].Action.Version = rl.VersionOf(run, update-3)
	}, []rl.LeftOut{rl.Stale, "", "", ""}},
	"a turn that a server answered with a version of last": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Turns[1].Action.Version = rl.VersionOf(run, update-2)
	}, []rl.LeftOut{"", "", "", ""}},
	"a turn that a server answered with another model": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Turns[1].Action.Version = "base"
	}, []rl.LeftOut{rl.Stale, "", "", ""}},
	"a turn of another run's version": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Turns[1].Action.Version = rl.VersionOf("another", update-1)
	}, []rl.LeftOut{rl.Stale, "", "", ""}},
	"no log-probabilities": {func(g *rl.Group, _ *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Turns[1].Action.LogProbs = nil
	}, []rl.LeftOut{rl.NoLogProbs, "", "", ""}},
	"no log-probabilities among equal rewards": {func(g *rl.Group, s *rl.Scores, _ *rl.Config) {
		g.Trajectories[0].Turns[1].Action.LogProbs = nil
		s.Scores[0].Value, s.Scores[1].Value, s.Scores[2].Value = 1, 1, 1
	}, []rl.LeftOut{rl.NoLogProbs, rl.ZeroVariance, rl.ZeroVariance, rl.ZeroVariance}},
	"no quorum": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Scores[0], s.Scores[1] = rl.Score{Unscored: "a"}, rl.Score{Unscored: "b"}
	}, []rl.LeftOut{rl.Unscored, rl.Unscored, rl.BelowQuorum, rl.BelowQuorum}},
	"a flat group": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Flat, s.Scores[0] = "the judge's passes differ by more", rl.Score{Unscored: "a"}
	}, []rl.LeftOut{rl.Unscored, rl.JudgeFlat, rl.JudgeFlat, rl.JudgeFlat}},
	"a flat group below the quorum": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		s.Flat, s.Scores[0], s.Scores[1] = "the judge's passes differ by more", rl.Score{Unscored: "a"}, rl.Score{Unscored: "b"}
	}, []rl.LeftOut{rl.Unscored, rl.Unscored, rl.BelowQuorum, rl.BelowQuorum}},
	"one left of a group without quorum": {func(_ *rl.Group, s *rl.Scores, cfg *rl.Config) {
		cfg.Group.Quorum = .25
		for i := range 3 {
			s.Scores[i] = rl.Score{Unscored: "a"}
		}
	}, []rl.LeftOut{rl.Unscored, rl.Unscored, rl.Unscored, rl.Singleton}},
	"equal rewards": {func(_ *rl.Group, s *rl.Scores, _ *rl.Config) {
		for i, v := range []float64{.1, .1 + 5e-13, .1 - 5e-13, .1} {
			s.Scores[i].Value = v
		}
	}, []rl.LeftOut{rl.ZeroVariance, rl.ZeroVariance, rl.ZeroVariance, rl.ZeroVariance}},
}

func TestAssembleSaysWhyNot(t *testing.T) {
	for name, c := range spoil {
		t.Run(name, func(t *testing.T) {
			g, s := group("train-1", 1, 0, 0, 1)
			cfg := config()
			c.do(&g, &s, &cfg)
			batch, ledger, _ := assemble(t, g, s, cfg)
			trained := 0
			for i, slot := range ledger.Slots {
				if slot.LeftOut != c.why[i] {
					t.Errorf("member %d is %q (%s), not %q", i, slot.LeftOut, slot.Why, c.why[i])
				}
				if slot.LeftOut == "" {
					trained++
				}
			}
			if !ledger.Balanced || ledger.Trained != trained || len(batch.Samples) != trained {
				t.Errorf("%d trained, %d rows, %+v", trained, len(batch.Samples), ledger)
			}
		})
	}
}

// Three turns in two rows: the history changed before the last one. By hand, gamma .5: returns to go are [.5 1 2] and [0 0 0]
// but for the rewards, their mean 3.5/6.
func TestAssembleSpreadsAdvantagesByTurn(t *testing.T) {
	g, s := group("train-1", 2, 0)
	for _, trajectory := range g.Trajectories {
		last := trajectory.Turns[1]
		last.Action.Kept, last.Action.Tokens, last.Action.LogProbs = 1, []int32{7, 8, 9}, []float32{-.5, -.5, -.5}
		trajectory.Turns = append(trajectory.Turns, last)
	}
	cfg := config()
	cfg.Advantage = rl.AdvantageConfig{Use: "returns", Std: "none", Gamma: .5}
	batch, ledger, _ := assemble(t, g, s, cfg)
	if len(batch.Samples) != 4 || ledger.Slots[0].Samples != 2 || ledger.Trained != 2 {
		t.Fatalf("%+v, %+v", batch.Samples, ledger)
	}
	m := float32(3.5 / 6)
	for i, want := range [][]float32{
		{0, 0, .5 - m, .5 - m, 0, 1 - m}, {0, 0, 2 - m, 2 - m, 2 - m},
		{0, 0, -m, -m, 0, -m}, {0, 0, -m, -m, -m},
	} {
		got := batch.Samples[i].Advantages
		if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 }) {
			t.Errorf("row %d: %v, not %v", i, got, want)
		}
	}
}

func TestAssembleKeepsWhatItIsToldToKeep(t *testing.T) {
	cfg := config()
	cfg.Advantage.ZeroVariance = "keep"
	g, s := group("train-1", 1, 1, 1, 1)
	batch, ledger, stats := assemble(t, g, s, cfg)
	if ledger.Trained != 4 || len(ledger.LeftOut) != 0 || stats.ZeroVarianceFraction != 1 || !slices.Equal(batch.Samples[3].Advantages, make([]float32, 6)) {
		t.Errorf("%+v, %+v, %+v", batch, ledger, stats)
	}
	cfg.Advantage = rl.AdvantageConfig{Use: "verl"}
	cfg.Group.Quorum = .25
	g, s = group("train-1", 1, 0, 0, 0)
	for i := range 3 {
		s.Scores[i+1] = rl.Score{Unscored: "a"}
	}
	batch, ledger, _ = assemble(t, g, s, cfg)
	if ledger.Trained != 1 || ledger.LeftOut[rl.Unscored] != 3 || !slices.Equal(batch.Samples[0].Advantages, []float32{0, 0, 1, 1, 0, 1}) {
		t.Errorf("%+v, %+v", batch, ledger)
	}
}

// A group that says nothing is in no statistics, and in no baseline of the update.
func TestAssembleCountsFlatGroups(t *testing.T) {
	cfg := config()
	cfg.Advantage = rl.AdvantageConfig{Use: "reinforce_pp", Std: "none"}
	g1, s1 := group("train-1", 1, 0, 0, 1)
	g2, s2 := group("train-2", 9, 8, 8, 8)
	s2.Flat = "the passes differ by .7 by chance, the members by .4"
	batch, ledger, stats, err := Assemble(run, update, []rl.Group{g1, g2}, []rl.Scores{s1, s2}, cfg)
	if err != nil || len(batch.Samples) != 4 || batch.Samples[0].Advantages[2] != .5 {
		t.Fatalf("%v, %+v", err, batch)
	}
	if stats.JudgeFlatFraction != .5 || stats.ZeroVarianceFraction != 0 || ledger.LeftOut[rl.JudgeFlat] != 4 || ledger.Slots[4].Why != s2.Flat {
		t.Errorf("%+v, %+v", stats, ledger)
	}
}

func TestAssembleQuorumCountsWhole(t *testing.T) {
	g, s := group("train-1", 1, 0, 1, 0, 1, 0, 1, 0, 1, 0)
	s.Scores[0], s.Scores[1], s.Scores[2] = rl.Score{Unscored: "a"}, rl.Score{Unscored: "a"}, rl.Score{Unscored: "a"}
	cfg := config()
	cfg.Group.Quorum = .7 // of 10: 7, though .7*10 need not be 7 in floating point
	if _, ledger, _ := assemble(t, g, s, cfg); ledger.Trained != 7 {
		t.Errorf("%+v", ledger)
	}
}

func TestAssembleRefusesAnUnknownEstimator(t *testing.T) {
	cfg := config()
	cfg.Advantage.Use = "guess"
	if _, _, _, err := Assemble(run, update, nil, nil, cfg); rl.KindOf(err) != rl.Invalid {
		t.Error(err)
	}
}

// Whatever happened to the rollouts, the sums agree, the order is (group, member), and the same input gives the
// same output.
func TestAssembleBalances(t *testing.T) {
	kinds := []string{""}
	for name := range spoil {
		kinds = append(kinds, name)
	}
	slices.Sort(kinds)
	rapid.Check(t, func(t *rapid.T) {
		var groups []rl.Group
		var scores []rl.Scores
		cfg := config()
		cfg.Group.Quorum = rapid.Float64Range(0, 1).Draw(t, "quorum")
		for i := range rapid.IntRange(0, 5).Draw(t, "groups") {
			g, s := group(rl.TaskID(fmt.Sprintf("train-%d", i)), rapid.SliceOfN(rapid.SampledFrom([]float64{0, .5, 1}), 4, 4).Draw(t, "scores")...)
			for range rapid.IntRange(0, 2).Draw(t, "faults") {
				if kind := rapid.SampledFrom(kinds).Draw(t, "fault"); kind != "" && intact(g, s) {
					unused := cfg
					spoil[kind].do(&g, &s, &unused)
				}
			}
			groups, scores = append(groups, g), append(scores, s)
		}
		batch, ledger, stats, err := Assemble(run, update, groups, scores, cfg)
		if err != nil {
			t.Fatal(err)
		}
		left, rows := 0, 0
		for i, slot := range ledger.Slots {
			if slot.Task != groups[i/4].Task.ID || slot.Member != i%4 {
				t.Fatalf("slot %d is %s/%d", i, slot.Task, slot.Member)
			}
			rows += slot.Samples
			if slot.LeftOut != "" {
				left++
			}
		}
		if !ledger.Balanced || ledger.Asked != 4*len(groups) || ledger.Trained+left != ledger.Asked || rows != len(batch.Samples) {
			t.Fatalf("%d left out, %d rows of %d, %+v", left, rows, len(batch.Samples), ledger)
		}
		if !slices.IsSortedFunc(batch.Samples, func(a, b rl.Sample) int { return strings.Compare(a.Episode.String(), b.Episode.String()) }) {
			t.Fatal("the rows are not in the order of groups and members")
		}
		again, ledger2, stats2, _ := Assemble(run, update, groups, scores, cfg)
		if fmt.Sprintf("%v", again) != fmt.Sprintf("%v", batch) || !reflect.DeepEqual(ledger, ledger2) || stats != stats2 {
			t.Fatal("a second time gave another result")
		}
	})
}

// intact reports whether a group can still be spoilt: its faults index members 0 to 3.
func intact(g rl.Group, s rl.Scores) bool {
	return len(s.Scores) == 4 && len(g.Trajectories) == 4 && !slices.Contains(g.Trajectories, nil)
}

// Whatever is scored, and whatever turns earn: an update's advantages are finite, and what is said of it can be written down.
func TestNoScoreSpoilsAnUpdate(t *testing.T) {
	wild := rapid.SampledFrom([]float64{0, 1, .5, -1, 5e-324, 1e-300, 1e15, 1e24, -1e24, 1e25, 1e39, 1e200, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()})
	rapid.Check(t, func(t *rapid.T) {
		cfg := config()
		cfg.Group.Quorum, cfg.Reward = 0, rl.RewardConfig{Use: "exact", Add: rl.RewardWeights{Turns: 1e6}}
		cfg.Advantage = rl.AdvantageConfig{
			Use: rapid.SampledFrom(Names()).Draw(t, "use"), Std: rapid.SampledFrom([]string{"population", "sample", "none"}).Draw(t, "std"),
			Gamma: 1, StepWeight: 1000,
			Singleton: rapid.SampledFrom([]string{"drop", "keep"}).Draw(t, "singleton"),
		}
		var groups []rl.Group
		var scores []rl.Scores
		for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
			g, s := group(rl.TaskID(fmt.Sprintf("train-%d", i)), rapid.SliceOfN(wild, 0, 4).Draw(t, "scores")...)
			for m := range s.Scores {
				s.Scores[m].Metrics = map[string]float64{"reward_exact": wild.Draw(t, "exact"), "reward_turns": wild.Draw(t, "turns")}
				s.Scores[m].Turns = rapid.SliceOfN(wild, 2, 2).Draw(t, "contributed")
				for k := range g.Trajectories[m].Turns {
					g.Trajectories[m].Turns[k].Reward = wild.Draw(t, "reward")
				}
			}
			groups, scores = append(groups, g), append(scores, s)
		}
		batch, ledger, stats, err := Assemble(run, update, groups, scores, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range batch.Samples {
			for i, a := range row.Advantages {
				if a-a != 0 {
					t.Fatalf("%v: the advantage at %d is %v", row.Episode, i, a)
				}
			}
		}
		for _, v := range []any{ledger, stats} {
			if _, err := json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
	})
}
