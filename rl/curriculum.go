package rl

import (
	"math"
	"slices"
)

// Curriculum is what an update's tasks are sampled by where the curriculum is on, and what that came to. It is written once
// before the tasks are, and follows from the one of the update before and from that update's ledger: sampled again, at
// whatever time, an update has the same tasks.
type Curriculum struct {
	Schema string       `json:"schema"` // CurriculumSchema
	Run    RunID        `json:"run"`
	Update UpdateNumber `json:"update"`
	// From and To are where in the stream of tasks (env.tasks.train in one shuffle after another) the update begins to take
	// them, and where the next one goes on.
	From int `json:"from"`
	To   int `json:"to"`
	// Streaks are the tasks whose last groups were alike, the one longest ago first.
	Streaks []Streak `json:"streaks"`
	// PutOff counts the tasks between From and To that were passed over.
	PutOff map[Alike]int `json:"put_off,omitempty"`
}

// CurriculumSchema is the version of the Curriculum JSON form.
const CurriculumSchema = "longhaul/curriculum/1"

// Streak is how many groups of a task, one after another, were scored alike.
type Streak struct {
	Task   TaskID `json:"task"`
	Groups int    `json:"groups"`
	Alike  Alike  `json:"alike"` // the last of them
}

// Alike says in what way the members of a group were scored alike.
type Alike string

const (
	AlikeSolved Alike = "solved" // full reward
	AlikeFailed Alike = "failed" // none, or less
	AlikePartly Alike = "partly" // in between
)

// AlikeIn is the way in which a group with this score was alike.
func AlikeIn(score float64) Alike {
	switch {
	case score >= 1:
		return AlikeSolved
	case score <= 0:
		return AlikeFailed
	}
	return AlikePartly
}

// mostStreaks bounds what is remembered: of a larger number of tasks the ones longest ago are forgotten, and sampled as any
// other.
const mostStreaks = 1 << 14

// AlikeWithin is how far scores may lie apart, relative to the largest magnitude where that is above 1, and count as the same:
// rounding in a scorer is no signal.
const AlikeWithin = 1e-9

// After is where the next update begins, given the ledger of c's. A group with spread ends its task's streak; one that was left
// out for another reason than that it was alike says nothing of its task.
func (c Curriculum) After(l Ledger) Curriculum {
	next := Curriculum{Schema: CurriculumSchema, Run: c.Run, Update: c.Update + 1, From: c.To, Streaks: []Streak{}}
	groups := map[TaskID]int{} // in the streaks that may go on
	told := map[TaskID]*spread{}
	for _, s := range l.Slots {
		if told[s.Task] == nil {
			told[s.Task] = &spread{}
		}
		told[s.Task].see(s)
	}
	for _, s := range c.Streaks {
		if t := told[s.Task]; t != nil && t.counts {
			groups[s.Task] = s.Groups
		} else {
			next.Streaks = append(next.Streaks, s)
		}
	}
	for _, s := range l.Slots {
		if t := told[s.Task]; t.alike() {
			next.Streaks = append(next.Streaks, Streak{s.Task, groups[s.Task] + 1, AlikeIn(t.scores[0])})
			*t = spread{} // one entry a group
		}
	}
	next.Streaks = next.Streaks[max(0, len(next.Streaks)-mostStreaks):]
	return next
}

// spread is what the slots of a group say of its task.
type spread struct {
	counts bool // it says something
	flat   bool // it was left out as alike
	scores []float64
}

func (g *spread) see(s Slot) {
	switch s.LeftOut {
	case ZeroVariance, JudgeFlat:
		g.flat = true
	case "", NoLogProbs, NoAction:
	default: // a failure, no score, or one that does not count
		return
	}
	g.counts = g.counts || g.flat || s.LeftOut == ""
	g.scores = append(g.scores, s.Score)
}

// alike reports whether the group was left out as alike, or its members, though they are trained on, have one score.
func (g *spread) alike() bool {
	if g.flat || !g.counts || len(g.scores) < 2 {
		return g.flat
	}
	low, high := slices.Min(g.scores), slices.Max(g.scores)
	return high-low <= AlikeWithin*max(1, math.Abs(low), math.Abs(high))
}

// Off are the tasks to put off: those with a streak of at least so many groups.
func (c Curriculum) Off(visits int) map[TaskID]Alike {
	off := map[TaskID]Alike{}
	for _, s := range c.Streaks {
		if s.Groups >= visits {
			off[s.Task] = s.Alike
		}
	}
	return off
}
