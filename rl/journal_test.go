package rl

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func entry(fence int64, life, turn int, says string) Entry {
	return Entry{Member: Member{Task: "t"}, Fence: fence, Life: life, Index: turn,
		Turn: &Recorded{Turn: Turn{Action: Action{Message: Message{Content: says}}}}}
}

func gave(fence int64, turn, call int, says string) Entry {
	return Entry{Member: Member{Task: "t"}, Fence: fence, Index: turn, Call: call, Result: &CallResult{Content: says}}
}

func saying(j *EpisodeJournal) string {
	var out []string
	for _, t := range j.Turns {
		s := t.Action.Message.Content
		for i := range 3 {
			if r, ok := t.Results[i]; ok {
				s += fmt.Sprintf("[%d %s]", i, r.Content)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestMergeJournal(t *testing.T) {
	for name, c := range map[string]struct {
		entries  []Entry
		want     string
		attempts int
		voided   int
	}{
		"one attempt":                   {[]Entry{entry(1, 0, 1, "b"), entry(1, 0, 0, "a")}, "a b", 1, 0},
		"a later one goes on":           {[]Entry{entry(1, 0, 0, "a"), entry(2, 0, 1, "b")}, "a b", 2, 0},
		"a zombie changes nothing":      {[]Entry{entry(1, 0, 0, "a"), entry(2, 0, 1, "b"), entry(1, 0, 1, "z"), entry(1, 0, 2, "z")}, "a b", 2, 0},
		"a zombie alone counts":         {[]Entry{entry(1, 0, 0, "a"), entry(1, 0, 1, "b"), entry(1, 0, 2, "c")}, "a b c", 1, 0},
		"nothing after a gap":           {[]Entry{entry(1, 0, 0, "a"), entry(1, 0, 2, "c")}, "a", 1, 0},
		"begun again, shorter":          {[]Entry{entry(1, 0, 0, "a"), entry(1, 0, 1, "b"), entry(1, 0, 2, "c"), entry(1, 1, 0, "A"), entry(1, 1, 1, "B")}, "A B", 1, 1},
		"begun again twice":             {[]Entry{entry(1, 0, 0, "a"), entry(2, 1, 0, "A"), entry(2, 2, 0, "Z")}, "Z", 2, 2},
		"results":                       {[]Entry{entry(1, 0, 0, "a"), gave(1, 0, 1, "y"), gave(1, 0, 0, "x"), entry(1, 0, 1, "b")}, "a[0 x][1 y] b", 1, 0},
		"a later result cuts a zombie":  {[]Entry{entry(1, 0, 0, "a"), entry(1, 0, 1, "z"), gave(2, 0, 0, "x")}, "a[0 x]", 2, 0},
		"a result of no turn":           {[]Entry{gave(1, 1, 0, "x"), entry(1, 0, 0, "a")}, "a", 1, 0},
		"a turn taken again is unknown": {[]Entry{entry(1, 0, 0, "a"), gave(1, 0, 0, "x"), entry(2, 0, 0, "A")}, "A", 2, 0},
		"below the first":               {[]Entry{entry(1, 0, -1, "z"), gave(1, -1, 0, "z"), entry(1, 0, 0, "a")}, "a", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := MergeJournal(c.entries)[Member{Task: "t"}]
			if got := saying(j); got != c.want || j.Attempts != c.attempts || j.Voided != c.voided {
				t.Errorf("%q of %d attempts, %d voided; want %q, %d, %d", got, j.Attempts, j.Voided, c.want, c.attempts, c.voided)
			}
		})
	}
}

// Attempts follow one another, each goes on from what it finds, and any of them may go on writing after it was given up.
// Whatever the order in which the segments are read, the record is that of the newest attempt: a prefix of what it
// found, and its own turns.
func TestMergeJournalProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Entry
		var want []string
		for fence := range int64(rapid.IntRange(1, 4).Draw(t, "attempts")) {
			found := MergeJournal(all)[Member{Task: "t"}]
			want = nil
			if found != nil {
				want = strings.Fields(saying(found))
			}
			from := len(want)
			for i := range rapid.IntRange(1, 3).Draw(t, "turns") {
				says := fmt.Sprintf("%d.%d", fence, from+i)
				all, want = append(all, entry(fence+1, 0, from+i, says)), append(want, says)
			}
			for i := range rapid.IntRange(0, 2).Draw(t, "late") { // an older attempt that is not dead
				if old := fence; old > 0 {
					all = append(all, entry(old, 0, from+i, "zombie"))
				}
			}
		}
		all = rapid.Permutation(all).Draw(t, "order")
		if got := saying(MergeJournal(all)[Member{Task: "t"}]); got != strings.Join(want, " ") {
			t.Fatalf("%q, want %q", got, strings.Join(want, " "))
		}
	})
}
