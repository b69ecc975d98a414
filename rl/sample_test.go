package rl

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// played makes a trajectory from full prompts and actions, with the prompts kept as differences.
func played(prompts, actions [][]int32) Trajectory {
	var t Trajectory
	var sequence []int32
	for i, prompt := range prompts {
		kept := 0
		for kept < min(len(sequence), len(prompt)) && sequence[kept] == prompt[kept] {
			kept++
		}
		a := Action{Kept: kept, Prompt: prompt[kept:], Tokens: actions[i], LogProbs: slices.Repeat([]float32{-.1}, len(actions[i]))}
		sequence = Sequence(sequence, a)
		t.Turns = append(t.Turns, Turn{Action: a})
	}
	return t
}

// mask writes a loss mask as the cases do.
func mask(s Sample) (out string) {
	for _, m := range s.LossMask {
		out += map[bool]string{true: "1", false: "0"}[m]
	}
	return out
}

func TestSamplesOfOneTurn(t *testing.T) {
	got, why := played([][]int32{{10, 11}}, [][]int32{{20, 30}}).Samples()
	if why != "" || len(got) != 1 {
		t.Fatalf("%d samples, %q", len(got), why)
	}
	s := got[0]
	if !slices.Equal(s.Tokens, []int32{10, 11, 20, 30}) || mask(s) != "0011" || !slices.Equal(s.Advantages, make([]float32, 4)) {
		t.Errorf("%+v", s)
	}
	for i, nan := range []bool{true, true, false, false} {
		if math.IsNaN(float64(s.LogProbs[i])) != nan || !nan && s.LogProbs[i] != -.1 {
			t.Errorf("log-probability %d is %g", i, s.LogProbs[i])
		}
	}
}

func TestSamplesFollowThePrompt(t *testing.T) {
	same, _ := played([][]int32{{1, 2}, {1, 2, 3, 4}}, [][]int32{{3}, {5}}).Samples()
	if len(same) != 1 || !slices.Equal(same[0].Tokens, []int32{1, 2, 3, 4, 5}) || mask(same[0]) != "00101" {
		t.Errorf("a kept prefix: %+v", same)
	}
	broken, why := played([][]int32{{1, 2}, {1, 2, 4}}, [][]int32{{3}, {5}}).Samples()
	if len(broken) != 2 || why != "" {
		t.Fatalf("a changed prefix: %+v %q", broken, why)
	}
	if !slices.Equal(broken[0].Tokens, []int32{1, 2, 3}) || mask(broken[0]) != "001" ||
		!slices.Equal(broken[1].Tokens, []int32{1, 2, 4, 5}) || mask(broken[1]) != "0001" {
		t.Errorf("a changed prefix: %+v", broken)
	}
}

func TestSamplesSayWhyThereAreNone(t *testing.T) {
	good := func() Trajectory { return played([][]int32{{1, 2}, {1, 2, 3, 4}}, [][]int32{{3}, {5}}) }
	for name, c := range map[string]struct {
		spoil func(*Trajectory)
		why   LeftOut
	}{
		"no log-probabilities": {func(t *Trajectory) { t.Turns[1].Action.LogProbs = nil }, NoLogProbs},
		"one too few":          {func(t *Trajectory) { t.Turns[0].Action.Tokens = []int32{3, 3} }, NoLogProbs},
		"no token ids":         {func(t *Trajectory) { t.Turns[0].Action.Tokens, t.Turns[0].Action.LogProbs = nil, nil }, NoLogProbs},
		"no turns":             {func(t *Trajectory) { t.Turns = nil }, NoAction},
		"keeps what is not":    {func(t *Trajectory) { t.Turns[1].Action.Kept = 4 }, StoreFailed},
		"keeps less than none": {func(t *Trajectory) { t.Turns[0].Action.Kept = -1 }, StoreFailed},
	} {
		t.Run(name, func(t *testing.T) {
			trajectory := good()
			c.spoil(&trajectory)
			if got, why := trajectory.Samples(); why != c.why || got != nil {
				t.Errorf("%+v, %q, not %q", got, why, c.why)
			}
		})
	}
}

// drawn is a trajectory whose history is changed or not from turn to turn.
func drawn(t *rapid.T) Trajectory {
	token := rapid.Int32Range(0, 2) // few, so that prefixes agree by chance too
	var prompts, actions [][]int32
	var sequence []int32
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		keep := rapid.OneOf(rapid.Just(len(sequence)), rapid.IntRange(0, len(sequence))).Draw(t, "keep")
		prompt := slices.Concat(sequence[:keep], rapid.SliceOfN(token, 0, 4).Draw(t, "prompt"))
		action := rapid.SliceOfN(token, 1, 3).Draw(t, "action")
		sequence = slices.Concat(prompt, action)
		prompts, actions = append(prompts, prompt), append(actions, action)
	}
	return played(prompts, actions)
}

// Whatever happens to the history, every sampled token is trained on once, after the prompt it was sampled from.
func TestSamplesTrainEveryTokenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trajectory := drawn(t)
		sequence, actions := []int32(nil), [][]int32(nil)
		for _, turn := range trajectory.Turns {
			sequence, actions = Sequence(sequence, turn.Action), append(actions, turn.Action.Tokens)
		}
		got, why := trajectory.Samples()
		if why != "" {
			t.Fatal(why)
		}
		var trained, sampled []int32
		for _, s := range got {
			if len(s.LossMask) != len(s.Tokens) || len(s.LogProbs) != len(s.Tokens) || len(s.Advantages) != len(s.Tokens) {
				t.Fatalf("uneven row %+v", s)
			}
			for i, m := range s.LossMask {
				if m {
					trained = append(trained, s.Tokens[i])
				}
			}
		}
		for _, a := range actions {
			sampled = append(sampled, a...)
		}
		if !slices.Equal(trained, sampled) {
			t.Fatalf("trained %v, sampled %v", trained, sampled)
		}
		if last := got[len(got)-1].Tokens; !slices.Equal(last, sequence) {
			t.Fatalf("the last row is %v, not %v", last, sequence)
		}
	})
}

func TestTurnAdvantages(t *testing.T) {
	action := func(kept int, tokens ...int32) Turn {
		return Turn{Action: Action{Kept: kept, Prompt: []int32{9}, Tokens: tokens, LogProbs: make([]float32, len(tokens))}}
	}
	tr := Trajectory{Turns: []Turn{action(0, 1, 2), action(3, 3), action(1, 4, 5, 6)}} // the third turn begins a new row
	rows, why := tr.Samples()
	if why != "" || len(rows) != 2 {
		t.Fatalf("%d rows, %s", len(rows), why)
	}
	set := func(advantages ...float32) {
		n := 0
		for _, row := range rows {
			for i, sampled := range row.LossMask {
				if sampled {
					row.Advantages[i] = advantages[n]
					n++
				}
			}
		}
	}
	set(.5, .5, -1, 2, 2, 2)
	turns := tr.TurnAdvantages(rows)
	if !slices.Equal(turns, []float64{.5, -1, 2}) {
		t.Fatalf("%v, want [0.5 -1 2]", turns)
	}
	if m := tr.MeanAdvantage(turns); m != 1 { // (2*.5 - 1 + 3*2) / 6
		t.Errorf("mean %v, want 1", m)
	}
	third := float64(float32(1) / 3)
	if m := tr.MeanAdvantage([]float64{third, third, third}); m != third {
		t.Errorf("mean %v of three times %v", m, third)
	}
	for what, rows := range map[string][]Sample{"none": nil, "a row is missing": rows[:1], "a row too many": append(slices.Clone(rows), rows[0])} {
		if turns := tr.TurnAdvantages(rows); turns != nil {
			t.Errorf("%s: %v", what, turns)
		}
	}
	if m := (Trajectory{}).MeanAdvantage(nil); m != 0 {
		t.Errorf("mean %v of nothing", m)
	}
}

// Histories of their own, and one that goes on from a turn another way: rows in the order of the turns, and every token that was
// sampled in one of them.
func TestHistoriesAreRows(t *testing.T) {
	from := func(i int) *int { return &i }
	turn := func(from *int, kept int, prompt []int32, token int32) Turn {
		return Turn{From: from, Action: Action{Kept: kept, Prompt: prompt, Tokens: []int32{token}, LogProbs: []float32{-1}}}
	}
	x := Trajectory{Turns: []Turn{
		turn(nil, 0, []int32{1, 2}, 3),
		turn(nil, 3, []int32{4}, 5),
		turn(from(0), 3, []int32{6}, 7),
		turn(nil, 5, []int32{8}, 9),
		turn(from(-1), 0, []int32{10}, 11),
		turn(from(2), 4, []int32{12}, 13),
	}}
	rows, why := x.Samples()
	var got [][]int32
	for _, row := range rows {
		tokens := slices.Clone(row.Tokens)
		for i, is := range row.LossMask {
			if is {
				tokens[i] = -tokens[i]
			}
		}
		got = append(got, tokens)
	}
	want := [][]int32{{1, 2, -3, 4, -5}, {1, 2, 3, 6, -7, 8, -9}, {10, -11}, {1, 2, 3, 6, 12, -13}}
	if !reflect.DeepEqual(got, want) || why != "" {
		t.Errorf("%v (%s)", got, why)
	}
	x.Turns[1].From = from(1)
	if rows, why := x.Samples(); rows != nil || why != StoreFailed {
		t.Errorf("%v (%s)", rows, why)
	}
	if words := x.Turns[2].Elsewhere() + x.Turns[4].Elsewhere(); words != "[the conversation goes on from turn 1 another way][another conversation of the agent begins]" {
		t.Error(words)
	}
}
