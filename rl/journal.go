package rl

import "slices"

// Recorded is a turn as a journal keeps it. It is committed before the action is acted on, so what the action led to
// is not part of it: that is the Observation of the next turn, and Earned there.
type Recorded struct {
	Turn
	// Earned is the reward of the previous turn's calls.
	Earned float64 `json:"earned,omitempty"`
	// Snapshot is the environment as it was before the action; nil where none was taken.
	Snapshot []byte `json:"snapshot,omitempty"`
	// Results are what calls with an effect outside the episode gave, as far as that was committed, by call.
	Results map[int]CallResult `json:"-"`
}

// CallResult is what one call gave.
type CallResult struct {
	Content string  `json:"content"`
	Done    bool    `json:"done,omitempty"`
	Reward  float64 `json:"reward,omitempty"`
}

// Member names an episode within its update or evaluation.
type Member struct {
	Task   TaskID `json:"task"`
	Member int    `json:"member"`
}

// Entry is one line of a journal: a turn, or the result of a call of that turn.
//
// Fence and Life order what was written about one episode by several attempts. Fence is when the attempt began, in
// nanoseconds since 1970 by the server's clock, and above every fence that the attempt found on record. Life counts
// how often the attempt voided what was recorded and began the episode again.
type Entry struct {
	Member
	Fence  int64       `json:"fence"`
	Life   int         `json:"life,omitempty"`
	Index  int         `json:"turn"` // of the turn, from 0
	Turn   *Recorded   `json:"record,omitempty"`
	Call   int         `json:"call,omitempty"` // of Result, within the turn's action
	Result *CallResult `json:"result,omitempty"`
}

// EpisodeJournal is what a journal says of one episode.
type EpisodeJournal struct {
	Turns    []Recorded
	Fence    int64 // the newest on record
	Attempts int   // that wrote something
	Voided   int   // times that an attempt began the episode again

	life int // of the entry last added
}

// MergeJournal puts the entries of episodes, in any order, together. A later attempt replaces what earlier ones wrote
// from its first turn on, also what they wrote afterwards: a worker that lost its work without knowing changes
// nothing. A turn after a gap is dropped; a gap is never acknowledged, hence never acted on.
func MergeJournal(all []Entry) map[Member]*EpisodeJournal {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Entry) int {
		for _, d := range []int64{a.Fence - b.Fence, int64(a.Life - b.Life), int64(a.Index - b.Index), order(a.Result != nil, b.Result != nil)} {
			if d != 0 {
				return int(min(max(d, -1), 1))
			}
		}
		return 0
	})
	out := map[Member]*EpisodeJournal{}
	for _, e := range all {
		j := out[e.Member]
		if j == nil {
			j = &EpisodeJournal{}
			out[e.Member] = j
		}
		newer := j.Attempts == 0 || e.Fence != j.Fence
		if newer {
			j.Attempts++
		}
		if e.Life > 0 && (newer || e.Life != j.life) {
			j.Voided++
		}
		j.Fence, j.life = e.Fence, e.Life
		j.add(e)
	}
	return out
}

func (j *EpisodeJournal) add(e Entry) {
	switch {
	case e.Turn != nil && e.Index >= 0 && e.Index <= len(j.Turns):
		t := *e.Turn
		t.Results = nil
		j.Turns = append(j.Turns[:e.Index:e.Index], t)
	case e.Result != nil && e.Index >= 0 && e.Index < len(j.Turns):
		j.Turns = j.Turns[: e.Index+1 : e.Index+1]
		t := &j.Turns[e.Index]
		if t.Results == nil {
			t.Results = map[int]CallResult{}
		}
		t.Results[e.Call] = *e.Result
	}
}

func order(a, b bool) int64 {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
