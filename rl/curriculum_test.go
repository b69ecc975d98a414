package rl

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// slots has a group of two of each task, left out for a reason (none: trained on), with a score.
func slots(of ...Slot) (l Ledger) {
	for _, s := range of {
		for m := range 2 {
			s.Member = m
			l.Slots = append(l.Slots, s)
		}
	}
	return l
}

func TestStreaks(t *testing.T) {
	c := Curriculum{Run: "a", Update: 4, From: 10, To: 17, Streaks: []Streak{{"t-1", 1, AlikeFailed}, {"t-2", 3, AlikeSolved}, {"t-3", 2, AlikeSolved}, {"t-4", 1, AlikeSolved}}}
	next := c.After(slots(
		Slot{Task: "t-3", LeftOut: ZeroVariance, Score: 1},         // goes on
		Slot{Task: "t-2", Score: .2}, Slot{Task: "t-2", Score: .7}, // ends
		Slot{Task: "t-4", LeftOut: EnvFailed},               // says nothing
		Slot{Task: "t-5", LeftOut: ZeroVariance},            // begins
		Slot{Task: "t-1", LeftOut: ZeroVariance, Score: .3}, // goes on in another way
		Slot{Task: "t-6", LeftOut: BelowQuorum}, Slot{Task: "t-7"}, Slot{Task: "t-7", Score: 1}))
	want := []Streak{{"t-4", 1, AlikeSolved}, {"t-3", 3, AlikeSolved}, {"t-5", 1, AlikeFailed}, {"t-1", 2, AlikePartly}}
	if !slices.Equal(next.Streaks, want) || next.Update != 5 || next.From != 17 || next.To != 0 {
		t.Errorf("%+v", next)
	}
	if off := next.Off(2); !maps.Equal(off, map[TaskID]Alike{"t-3": AlikeSolved, "t-1": AlikePartly}) {
		t.Errorf("%v are put off", off)
	}
}

// Members that are trained on though they were scored alike are alike all the same (zero_variance: keep, reinforce_pp), as are
// those that a judge could not tell apart; a member alone is not, nor is a group whose only other score is below.
func TestStreaksOfGroupsThatAreTrainedOn(t *testing.T) {
	c := Curriculum{Streaks: []Streak{{"t-1", 1, AlikeSolved}, {"t-4", 1, AlikeSolved}}}
	next := c.After(Ledger{Slots: []Slot{
		{Task: "t-1", Score: 1}, {Task: "t-1", Member: 1, LeftOut: PolicyFailed}, {Task: "t-1", Member: 2, Score: 1 + 1e-12},
		{Task: "t-2", LeftOut: JudgeFlat, Score: .5}, {Task: "t-2", Member: 1, LeftOut: JudgeFlat, Score: .5},
		{Task: "t-3", Score: .3}, {Task: "t-3", Member: 1, LeftOut: Unscored},
		{Task: "t-4", Score: 1}, {Task: "t-4", Member: 1, LeftOut: NoLogProbs},
		{Task: "t-5", LeftOut: BelowQuorum}, {Task: "t-5", Member: 1, LeftOut: BelowQuorum},
	}})
	if want := []Streak{{"t-1", 2, AlikeSolved}, {"t-2", 1, AlikePartly}}; !slices.Equal(next.Streaks, want) {
		t.Errorf("%+v", next.Streaks)
	}
}

// However many tasks there are, what is remembered is bounded: those longest ago are forgotten.
func TestStreaksAreBounded(t *testing.T) {
	var c Curriculum
	for n := range 3 {
		var l Ledger
		for i := range mostStreaks / 2 {
			l.Slots = append(l.Slots, Slot{Task: TaskID(fmt.Sprint(n, "-", i)), LeftOut: ZeroVariance})
		}
		c = c.After(l)
	}
	if len(c.Streaks) != mostStreaks || c.Streaks[0].Task != "1-0" {
		t.Errorf("%d remembered, from %s on", len(c.Streaks), c.Streaks[0].Task)
	}
}
