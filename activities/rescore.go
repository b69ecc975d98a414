package activities

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Rescored is a group with the scores that are recorded of it and those of another reward.
type Rescored struct {
	rl.Group
	Was, Is rl.Scores
}

// Telling is told how scoring comes along, by several goroutines at once. Either may be nil.
type Telling struct {
	Done  func(of int)    // a group is scored
	Waits func(why error) // what is needed is out of reach, and is waited for
}

func (t Telling) done(of int) {
	if t.Done != nil {
		t.Done(of)
	}
}

func (t Telling) waits(why error) {
	if t.Waits != nil {
		t.Waits(why)
	}
}

// Rescore scores the groups of an update that have scores once more, with another reward, and records what that gives beside them,
// by the sha256 of the reward's configuration without its limits, which is recorded too (store.RewardKey). Groups that were scored
// with it before are read. What is recorded already is never changed and never paid for again.
//
// A judge that is out of reach is waited for, for some minutes. Errors: NotFound when the update has no groups yet, Exhausted before
// a call that could pass reward.max_usd or max_calls, else as the reward's.
func (a *Activities) Rescore(ctx context.Context, s Stage, by rl.RewardConfig, tell Telling) ([]Rescored, error) {
	st, cfg, err := a.open(ctx, s)
	if err != nil {
		return nil, err
	}
	was, err := recordedScores(ctx, st, s)
	if err != nil || len(was) == 0 {
		return nil, err
	}
	name := RewardName(by)
	if _, _, err := st.PutFirst(ctx, store.RewardKey(s.Run, name), unlimited(by)); err != nil {
		return nil, err
	}
	out := make([]Rescored, len(was))
	return out, eachGroup(ctx, len(was), by, func(i int) error {
		group, err := a.told(ctx, st, s, cfg, by, was[i].task)
		if err != nil {
			return err
		}
		key := store.RescoredKey(s.Run, s.Update, group.Task.ID, name)
		_, is, ok, err := recorded[rl.Scores](ctx, st, key)
		if err == nil && !ok {
			err = patiently(ctx, tell.waits, func() (err error) {
				is, err = a.Score(ctx, st, s.Run, s.Update, by, cfg.Sampling.Seed, group)
				return err
			})
			if err == nil {
				_, is, err = store.PutJSON(ctx, st, key, is)
			}
		}
		if err == nil {
			out[i] = Rescored{group, was[i].Scores, is}
			tell.done(len(was))
		}
		return err
	})
}

// RewardName is the name of a reward that scores groups again: the sha256 of what RewardKey keeps. How often and at what cost a
// judge may be asked does not tell rewards apart.
func RewardName(r rl.RewardConfig) string { return store.SHA256(unlimited(r)) }

func unlimited(r rl.RewardConfig) []byte {
	r.MaxUSD, r.MaxCalls, r.Concurrency, r.Timeout = 0, 0, 0, 0
	return rl.CanonicalJSON(r)
}

// scoredTask is a task of an update and its group's scores.
type scoredTask struct {
	task rl.Task
	rl.Scores
}

// recordedScores are those of an update's groups that have any, in the order of its tasks.
func recordedScores(ctx context.Context, st *store.Store, s Stage) (out []scoredTask, err error) {
	tasks, err := st.Tasks(ctx, s.Run, s.Update)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		_, scores, err := store.FindJSON[rl.Scores](ctx, st, store.ScoresKey(s.Run, s.Update, t.ID))
		if rl.KindOf(err) == rl.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, scoredTask{t, scores})
	}
	return out, nil
}

// eachGroup works on n groups, as many at once as the judge takes calls. After a failure no further group is begun; those that are
// under way are brought to their end, since they may be paid for.
func eachGroup(ctx context.Context, n int, r rl.RewardConfig, work func(i int) error) error {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		errs  []error
		next  int
		begin = func() (i int, ok bool) {
			mu.Lock()
			defer mu.Unlock()
			i, next = next, next+1
			return i, i < n && len(errs) == 0 && ctx.Err() == nil
		}
	)
	for range min(n, max(r.Concurrency, 1)) {
		all.Go(func() {
			for {
				i, ok := begin()
				if !ok {
					return
				}
				if err := work(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if len(errs) > 0 {
		return errs[0]
	}
	return ctx.Err()
}

// tries is how often patiently tries, waiting twice as long each time, from a second on.
const tries = 8

// patiently calls f again while it says that what it needs is out of reach for now, after the time that the other side asks for.
func patiently(ctx context.Context, waits func(why error), f func() error) (err error) {
	for try := range tries {
		if err = f(); rl.KindOf(err) != rl.Unavailable || try == tries-1 || ctx.Err() != nil {
			return err
		}
		waits(err)
		e, _ := errors.AsType[*rl.Error](err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cmp.Or(e.RetryAfter, time.Second<<try)):
		}
	}
	return err
}
