package activities

import (
	"context"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// ReopenOut counts what was reopened.
type ReopenOut struct {
	Groups   int `json:"groups"`
	Episodes int `json:"episodes"`
}

// Reopen gives the failed episodes of an update another chance, after a person has seen that it had too few groups to learn from
// and resumed it: their recorded failures, and the scores of their groups, are moved aside, and so are scores that the reward did not
// give, with the answers that the judge gave instead: else it would never be asked again. Episodes that were voided stay so: what they did outside may not be done twice. The groups are played and judged anew
// as far as they have failed; all that is whole stands.
func (a *Activities) Reopen(ctx context.Context, in Stage) (ReopenOut, error) {
	defer beat(ctx)()
	out, err := a.reopen(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) reopen(ctx context.Context, in Stage) (out ReopenOut, err error) {
	st, cfg, err := a.open(ctx, in)
	if err != nil {
		return out, err
	}
	tasks, err := st.Tasks(ctx, in.Run, in.Update)
	if err != nil {
		return out, err
	}
	for _, task := range tasks {
		var failed []string // records
		for m := range cfg.Group.Size {
			key := store.FailureKey(in.trajectoryKey(task.ID, m))
			_, f, there, err := recorded[rl.Failure](ctx, st, key)
			if err != nil {
				return out, err
			}
			if there && f.LeftOut != rl.Voided {
				failed = append(failed, key)
			}
		}
		_, scores, judged, err := recorded[rl.Scores](ctx, st, store.ScoresKey(in.Run, in.Update, task.ID))
		if err != nil {
			return out, err
		}
		if len(failed) == 0 && (!judged || !unscored(scores)) {
			continue
		}
		if judged && unscored(scores) { // before the scores, which show a second try that they have to
			if err := setAllAside(ctx, st, store.JudgePrefix(in.Run, in.Update, task.ID)); err != nil {
				return out, err
			}
		}
		// The scores go before the failures: as long as a failure is there, a second try sees that they have to.
		if err := setScoresAside(ctx, st, in, task.ID); err != nil {
			return out, err
		}
		for _, key := range failed {
			if err := st.SetAside(ctx, key); err != nil {
				return out, err
			}
		}
		out.Groups, out.Episodes = out.Groups+1, out.Episodes+len(failed)
	}
	return out, nil
}

// unscored reports whether the reward itself gave some member no score.
func unscored(s rl.Scores) bool {
	return slices.ContainsFunc(s.Scores, func(s rl.Score) bool { return !s.Scored() && rl.LeftOutOf(s.Unscored, rl.Unscored) == rl.Unscored })
}

// setScoresAside moves all scores of a group aside, those of other rewards first: they are of members that may be played anew.
func setScoresAside(ctx context.Context, st *store.Store, in Stage, task rl.TaskID) error {
	if err := setAllAside(ctx, st, store.RescoredPrefix(in.Run, in.Update, task)); err != nil {
		return err
	}
	return st.SetAside(ctx, store.ScoresKey(in.Run, in.Update, task))
}

// setAllAside moves all records under a prefix aside.
func setAllAside(ctx context.Context, st *store.Store, prefix string) error {
	names, err := st.Names(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "/") { // what was set aside before
			continue
		}
		if err := st.SetAside(ctx, prefix+name); err != nil {
			return err
		}
	}
	return nil
}
