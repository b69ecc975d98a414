package main

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
)

// replayOptions are the flags of replay.
type replayOptions struct {
	from   int
	policy string
	times  int
	exact  bool
	diff   bool
	failed bool
	update int
	one    bool // update is given
}

func (a *app) replayCommand() *cobra.Command {
	var o replayOptions
	c := a.jsonFlag(&cobra.Command{
		Use: "replay RUN/UPDATE/TASK/MEMBER | RUN --failed", Short: "Do a rollout again beside the original, from its record or live from a turn on", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Long: "replay does an episode again. Its recorded turns are served from the journal: nothing is sampled for them, and what\n" +
			"has an effect outside the episode is not executed again. Where the record ends, or from --from-turn on, the episode goes\n" +
			"on live. With --exact it ends where the record does: that reproduces a failed environment without any policy.\n" +
			"The result is stored beside the original, which stays as it is. `longhaul show` lists both.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.one = cmd.Flags().Changed("update")
			if err := o.check(cmd.Flags().Changed("from-turn")); err != nil {
				return err
			}
			h, err := a.host(cmd.Context(), want{}, true)
			if err != nil {
				return err
			}
			defer h.Close()
			return a.replay(cmd.Context(), h.conn, args[0], o)
		},
	})
	f := c.Flags()
	f.IntVar(&o.from, "from-turn", -1, "serve only the turns before this one (the first is 0), and go on live from it")
	f.StringVar(&o.policy, "policy", "", "the version that samples live turns (default: the original's); alone, it means --from-turn 0")
	f.IntVar(&o.times, "times", 1, "this often; each time but the first with other sampling seeds")
	f.BoolVar(&o.exact, "exact", false, "sample nothing: end where the record ends")
	f.BoolVar(&o.diff, "diff", false, "show the first turn in which the replay and the original part")
	f.BoolVar(&o.failed, "failed", false, "all failed rollouts of the run")
	f.IntVar(&o.update, "update", 0, "with --failed: of this update only")
	return c
}

func (o *replayOptions) check(from bool) error {
	switch {
	case from && o.from < 0:
		return usagef("--from-turn %d: turns count from 0", o.from)
	case o.times < 1 || o.times > 1000:
		return usagef("--times %d: from 1 to 1000", o.times)
	case o.exact && (o.policy != "" || o.times > 1):
		return usagef("--exact samples nothing: --policy and --times make no sense with it")
	case o.one && !o.failed:
		return usagef("--update goes with --failed")
	case o.one && o.update < 1:
		return usagef("--update %d: updates count from 1", o.update)
	}
	if o.policy != "" && !from {
		o.from = 0
	}
	return nil
}

func (a *app) replay(ctx context.Context, c *conn, name string, o replayOptions) error {
	at, err := parseAddress(name)
	if err != nil {
		return err
	}
	if o.failed != (at.depth == 0) || at.version != "" || at.pointer != "" || !o.failed && at.depth != 3 {
		return usagef("%q: name one rollout, RUN/UPDATE/TASK/MEMBER, or a run with --failed", name)
	}
	ref, cfg, err := c.Store.Config(ctx, at.run)
	if err != nil {
		return noRun(at.run, err)
	}
	which := []rl.EpisodeID{{Run: at.run, Update: at.update, Task: at.task, Member: at.member}}
	if o.failed {
		if which, err = failedEpisodes(ctx, c.Store, at.run, o); err != nil {
			return err
		}
		if len(which) == 0 {
			a.out.say("no rollout of run %s has failed", at.run)
			return nil
		}
	}
	r := replayer{&activities.Activities{OpenStore: c.OpenStore}, c, at.run, ref}
	specs, err := r.specs(ctx, which, o)
	if err != nil {
		return err
	}
	done, err := workers.Replay(ctx, c.Temporal, c.Store, c.URI, cfg, ref, specs)
	if err != nil {
		return fmt.Errorf("replaying %s: %w", name, err)
	}
	return a.printReplays(done, o)
}

// failedEpisodes are those of a run, or of one update, that ended without a trajectory.
func failedEpisodes(ctx context.Context, s *store.Store, run rl.RunID, o replayOptions) (out []rl.EpisodeID, err error) {
	ledgers, err := readLedgers(ctx, s, run, rl.UpdateNumber(o.update), o.one)
	if err != nil {
		return nil, err
	}
	for _, l := range ledgers {
		for _, slot := range l.Slots {
			id := rl.EpisodeID{Run: run, Update: l.Update, Task: slot.Task, Member: slot.Member}
			if _, err := s.Head(ctx, store.FailureKey(store.TrajectoryKey(id))); err == nil {
				out = append(out, id)
			} else if rl.KindOf(err) != rl.NotFound {
				return nil, err
			}
		}
	}
	return out, nil
}

// replayer turns what a person asks for into specs.
type replayer struct {
	activities *activities.Activities
	conn       *conn
	run        rl.RunID
	config     rl.Ref
}

func (r replayer) specs(ctx context.Context, which []rl.EpisodeID, o replayOptions) (specs []rl.ReplaySpec, err error) {
	var version rl.Version
	if o.policy != "" {
		run, n, err := versionNamed(ctx, r.conn, o.policy)
		if err != nil {
			return nil, err
		}
		version = rl.VersionOf(run, n)
	}
	for _, id := range which {
		was, err := r.activities.Original(ctx, activities.Stage{Run: r.run, Store: r.conn.URI, Config: r.config, Update: id.Update}, id)
		if err != nil {
			return nil, err
		}
		if o.from > len(was.Turns) {
			return nil, usagef("--from-turn %d: %s has %d recorded turns", o.from, id, len(was.Turns))
		}
		next, err := r.next(ctx, id)
		if err != nil {
			return nil, err
		}
		spec := rl.ReplaySpec{Of: id, Recorded: len(was.Turns), Exact: o.exact, Version: was.Version}
		if o.from >= 0 {
			spec.Recorded = o.from
		}
		if version != "" {
			spec.Version = version
		}
		for try := range o.times {
			spec.Number, spec.Try = next+try, try
			specs = append(specs, spec)
		}
	}
	return specs, nil
}

// next is the number of an episode's next replay.
func (r replayer) next(ctx context.Context, id rl.EpisodeID) (int, error) {
	replays, err := readReplays(ctx, r.conn.Store, id)
	if err != nil || len(replays) == 0 {
		return 1, err
	}
	return replays[len(replays)-1].Number + 1, nil
}

// readReplays reads what the replays of an episode came to, in order.
func readReplays(ctx context.Context, s *store.Store, id rl.EpisodeID) (out []rl.Replay, err error) {
	for o, err := range s.List(ctx, store.ReplayPrefix(id)) {
		if err != nil {
			return out, err
		}
		if path.Base(o.Key) != "replay.json" {
			continue
		}
		_, r, err := store.FindJSON[rl.Replay](ctx, s, o.Key)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (a *app) printReplays(done []rl.Replay, o replayOptions) error {
	if a.out.json {
		var errs []error
		for _, r := range done {
			errs = append(errs, a.out.object(r))
		}
		return errors.Join(errs...)
	}
	a.out.rows(replayRows(done))
	for _, r := range done {
		if !o.diff {
			continue
		}
		if r.Parts == nil {
			a.out.print("\n%s: as far as both go, it is what it was\n", replayName(r))
			continue
		}
		a.out.print("\n%s parts in turn %d, in the %s\n- %s\n+ %s\n", replayName(r), r.Parts.Turn, r.Parts.What, r.Parts.Was, r.Parts.Is)
	}
	return nil
}

func replayName(r rl.Replay) string { return fmt.Sprintf("replay %d of %s", r.Number, r.Of) }

// replayRows is a line for each replay, and what it was before.
func replayRows(replays []rl.Replay) [][]string {
	rows := [][]string{{"REPLAY OF", "NO", "RECORDED", "POLICY", "TURNS", "ENDED", "SCORE", "PARTS", "WAS"}}
	for _, r := range replays {
		row := []string{r.Of.String(), fmt.Sprint(r.Number), fmt.Sprint(r.Recorded), string(r.Version), fmt.Sprint(r.Turns), string(r.Stop), "-", "-", r.Original}
		if r.Exact {
			row[3] = "-"
		}
		if r.Failure != nil {
			row[5] = fmt.Sprintf("%s: %s", r.Failure.LeftOut, r.Failure.Why)
		}
		if r.Outcome != nil {
			row[6] = scoreList([]rl.Score{*r.Outcome})
		}
		if r.Parts != nil {
			row[7] = fmt.Sprintf("turn %d", r.Parts.Turn)
		}
		rows = append(rows, row)
	}
	return rows
}
