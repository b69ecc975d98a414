package activities

import (
	"bytes"
	"context"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// openJournals is how many journals a process keeps at hand: the update at work, an evaluation or two beside it.
const openJournals = 4

// openJournal is a journal that this process writes, by its place.
type openJournal struct {
	place   string
	journal *store.Journal
}

// journal is where the stage's episodes write down their turns.
func (a *Activities) journal(st *store.Store, s Stage) *store.Journal {
	prefix := store.JournalPrefix(s.Run, s.Update)
	if s.Evaluation != "" {
		prefix = store.EvaluationJournalPrefix(s.Run, s.Update, s.Evaluation)
	}
	place := st.String() + "/" + prefix
	a.mu.Lock()
	defer a.mu.Unlock()
	o := openJournal{place, nil}
	if i := slices.IndexFunc(a.journals, func(o openJournal) bool { return o.place == place }); i >= 0 {
		o = a.journals[i]
		a.journals = slices.Delete(a.journals, i, i+1)
	} else {
		o.journal = st.Journal(prefix)
	}
	a.journals = append(a.journals[max(0, len(a.journals)-openJournals+1):], o)
	return o.journal
}

// recall is what earlier attempts wrote down of the episodes of some tasks.
func (a *Activities) recall(ctx context.Context, st *store.Store, s Stage, tasks []rl.Task) (*store.Journal, map[rl.Member]*rl.EpisodeJournal, error) {
	asked := map[rl.TaskID]bool{}
	for _, t := range tasks {
		asked[t.ID] = true
	}
	j := a.journal(st, s)
	episodes, damage, err := j.Load(ctx, asked)
	for _, d := range damage {
		a.log().Warn("a segment of the journal is damaged: its turns are taken again", "key", d.Key, "why", d.Why)
	}
	return j, episodes, err
}

// line is an episode's part of a journal, while it is played.
type line struct {
	journal *store.Journal
	member  rl.Member
	fence   int64
	life    int
	voided  int // lives of earlier attempts
	turns   []rl.Recorded
	claimed map[string]bool // by this attempt
}

// resume goes on with what earlier attempts recorded of an episode. began is when this attempt did, in nanoseconds by
// the server's clock; a clock that was set back does not make it older than they are.
func resume(j *store.Journal, m rl.Member, began int64, before *rl.EpisodeJournal) *line {
	l := &line{journal: j, member: m, fence: began}
	if before != nil {
		l.turns, l.fence, l.voided = before.Turns, max(began, before.Fence+1), before.Voided
	}
	return l
}

func (l *line) record(ctx context.Context, r rl.Recorded) error {
	err := l.journal.Append(ctx, rl.Entry{Member: l.member, Fence: l.fence, Life: l.life, Index: len(l.turns), Turn: &r})
	if err == nil {
		for i := len(l.turns) - 1; r.Snapshot != nil && i >= 0; i-- {
			l.turns[i].Snapshot = nil // only the newest is ever needed
		}
		l.turns = append(l.turns, r)
	}
	return err
}

func (l *line) recordResult(ctx context.Context, turn, call int, r rl.CallResult) error {
	err := l.journal.Append(ctx, rl.Entry{Member: l.member, Fence: l.fence, Life: l.life, Index: turn, Call: call, Result: &r})
	if err == nil {
		if l.turns[turn].Results == nil {
			l.turns[turn].Results = map[int]rl.CallResult{}
		}
		l.turns[turn].Results[call] = r
	}
	return err
}

// void begins the episode again.
func (l *line) void() { l.life, l.turns = l.life+1, nil }

// claim puts a call that must not be repeated on record, before it is sent. It is first when nobody did before: no other
// attempt, dead or alive, and no earlier try of this one.
func (l *line) claim(ctx context.Context, st *store.Store, key string) (first bool, err error) {
	if l.claimed[key] {
		return false, nil
	}
	mine := rl.CanonicalJSON(rl.Entry{Member: l.member, Fence: l.fence, Life: l.life})
	_, recorded, err := st.PutFirst(ctx, key, mine)
	if err != nil {
		return false, err
	}
	if l.claimed == nil {
		l.claimed = map[string]bool{}
	}
	l.claimed[key] = true
	return bytes.Equal(recorded, mine), nil
}
