package rl

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

// After is where the next update begins, given the ledger of c's. A group with something to learn from ends its task's
// streak; one that was left out for another reason than that it was alike says nothing of its task.
func (c Curriculum) After(l Ledger) Curriculum {
	next := Curriculum{Schema: CurriculumSchema, Run: c.Run, Update: c.Update + 1, From: c.To, Streaks: []Streak{}}
	groups := map[TaskID]int{} // in the streaks that may go on
	said := map[TaskID]bool{}
	for _, s := range l.Slots {
		said[s.Task] = said[s.Task] || s.LeftOut == "" || s.LeftOut == ZeroVariance
	}
	for _, s := range c.Streaks {
		if said[s.Task] {
			groups[s.Task] = s.Groups
		} else {
			next.Streaks = append(next.Streaks, s)
		}
	}
	for _, s := range l.Slots {
		if said[s.Task] && s.LeftOut == ZeroVariance {
			next.Streaks = append(next.Streaks, Streak{s.Task, groups[s.Task] + 1, AlikeIn(s.Score)})
			said[s.Task] = false // one entry a group
		}
	}
	next.Streaks = next.Streaks[max(0, len(next.Streaks)-mostStreaks):]
	return next
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
