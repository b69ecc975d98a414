package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

func (a *app) rescoreCommand() *cobra.Command {
	var by otherReward
	var rubric string
	var update int
	c := a.jsonFlag(&cobra.Command{
		Use: "rescore RUN [--update N] [--rubric FILE] [--model NAME]", Short: "Score recorded groups again under another rubric, model or reward, and compare", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Long: "rescore scores the groups of a run, or of one update, once more: with the run's reward, changed as the flags say. The new scores\n" +
			"are stored beside the recorded ones; no checkpoint and no recorded score changes. It tells how the two agree: Kendall's tau-b\n" +
			"within groups, its mean over the groups in which both tell members apart, and which episodes would have been pushed the other way.\n" +
			"It may be done while the run goes on. What a judge answers is kept and counts toward the run's reward.max_usd: interrupted and\n" +
			"run again, it pays for nothing twice.",
		Example: "  longhaul rescore orders-1 --rubric rubric.md\n  longhaul rescore orders-1 --update 12 --model gpt-5 --passes 4\n" +
			"  longhaul rescore orders-1 --reward exact\n  longhaul rescore orders-1 --url http://127.0.0.1:8088/v1 --model judge --set reward.usd_in=0.4",
		RunE: func(cmd *cobra.Command, args []string) error {
			one := cmd.Flags().Changed("update")
			if one && update < 1 {
				return usagef("--update %d: updates count from 1", update)
			}
			c, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer c.Close()
			r, err := a.rescorer(cmd.Context(), c, rl.RunID(args[0]), by.with(rubric))
			if err != nil {
				return err
			}
			if one {
				return r.rescore(cmd.Context(), []rl.UpdateNumber{rl.UpdateNumber(update)}, true)
			}
			updates, err := updatesBegun(cmd.Context(), c.Store, r.stage.Run)
			if err != nil {
				return err
			}
			return r.rescore(cmd.Context(), updates, false)
		},
	})
	c.Flags().IntVar(&update, "update", 0, "this update only")
	c.Flags().StringVar(&rubric, "rubric", "", "file that says what makes an attempt good")
	by.flags(c)
	return c
}

// rescorer scores groups of a run again.
type rescorer struct {
	*app
	conn  *conn
	acts  *activities.Activities
	stage activities.Stage
	by    rl.RewardConfig
}

func (a *app) rescorer(ctx context.Context, c *conn, run rl.RunID, by otherReward) (*rescorer, error) {
	ref, cfg, err := c.Store.Config(ctx, run)
	if err != nil {
		return nil, noRun(run, err)
	}
	r := &rescorer{app: a, conn: c, stage: activities.Stage{Run: run, Store: c.URI, Config: ref}}
	r.acts = &activities.Activities{OpenStore: c.OpenStore, Getenv: a.getenv, Log: a.log}
	if by.limits() { // which would let this command pass the one that the run holds to
		state, err := liveState(ctx, c, run, "")
		if err != nil {
			return nil, err
		}
		if state == string(workflows.Running) || state == string(workflows.Paused) {
			return nil, rl.Errorf(rl.Conflict, "run "+string(run), "it is %s, and its limits are everybody's: `longhaul set %s reward.max_usd=N --why TEXT` changes them", state, run)
		}
	}
	r.by, err = by.of(cfg)
	if err == nil {
		_, err = a.judgeKey(r.by)
	}
	return r, err
}

// rescoredUpdate and rescoredAll are the objects of `rescore --json`, a line for each update and one for all.
type rescoredUpdate struct {
	Event  string          `json:"event"` // update
	Run    rl.RunID        `json:"run"`
	Update rl.UpdateNumber `json:"update"`
	activities.Agreement
}

type rescoredAll struct {
	Event   string   `json:"event"` // rescored
	Run     rl.RunID `json:"run"`
	Updates int      `json:"updates"`
	// Reward is the reward that scored; Name is the sha256 of it, by which its scores lie in the store.
	Name   string          `json:"name"`
	Reward rl.RewardConfig `json:"reward"`
	activities.Agreement
	RunSpend rl.Spend `json:"run_spend"` // what judging has cost the run in all
}

// rescore scores the groups of updates. must says that there have to be any.
func (r *rescorer) rescore(ctx context.Context, updates []rl.UpdateNumber, must bool) error {
	all := rescoredAll{Event: "rescored", Run: r.stage.Run, Name: activities.RewardName(r.by), Reward: r.by}
	all.SignChanges = []activities.SignChange{}
	rows := [][]string{agreementHead}
	for _, n := range updates {
		found, err := r.update(ctx, n)
		if rl.KindOf(err) == rl.NotFound && !must || err == nil && found.Groups == 0 && !must {
			continue // not that far
		}
		if rl.KindOf(err) == rl.NotFound || err == nil && found.Groups == 0 {
			return rl.Errorf(rl.NotFound, fmt.Sprintf("update %s/%d", r.stage.Run, n), "no group of it has scores (yet); `longhaul show %s` lists the updates", r.stage.Run)
		}
		if err != nil {
			return r.stopped(ctx, err)
		}
		all.Updates++
		all.Add(found)
		rows = append(rows, agreementRow(fmt.Sprint(n), found))
		if r.out.json {
			if err := r.out.object(rescoredUpdate{"update", r.stage.Run, n, found}); err != nil {
				return err
			}
		}
	}
	if all.Updates == 0 {
		return rl.Errorf(rl.NotFound, "run "+string(r.stage.Run), "none of its groups has scores yet")
	}
	var err error
	if all.RunSpend, err = r.spend(ctx); err != nil {
		return err
	}
	if r.out.json {
		return r.out.object(all)
	}
	r.out.rows(append(rows, agreementRow("all", all.Agreement)))
	r.printSigns(all.SignChanges)
	r.out.print("\nscored by %s; its scores lie beside the recorded ones, in rescored/%s.json\n%s\n", inWords(r.by), all.Name, spendLine(all.RunSpend, r.by))
	return nil
}

func (r *rescorer) update(ctx context.Context, n rl.UpdateNumber) (activities.Agreement, error) {
	s := r.stage
	s.Update = n
	groups, err := r.acts.Rescore(ctx, s, r.by, r.telling(fmt.Sprintf("update %d", n)))
	if err != nil {
		return activities.Agreement{}, err
	}
	_, cfg, err := r.conn.Store.ConfigOf(ctx, s.Run, n) // with its estimator, whatever the run has been set to since
	if err != nil {
		return activities.Agreement{}, err
	}
	return activities.Agree(s, cfg, r.by, groups)
}

// telling shows how far it is with something, and says once what it waits for.
func (r *rescorer) telling(what string) activities.Telling {
	var count atomic.Int64
	var once sync.Once
	return activities.Telling{
		Done:  func(of int) { r.out.now("%s: %d of %d groups", what, count.Add(1), of) },
		Waits: func(why error) { once.Do(func() { r.out.say("waiting: %v", why) }) },
	}
}

// spend is what judging has cost the run.
func (r *rescorer) spend(ctx context.Context) (rl.Spend, error) {
	s, err := find[rl.Spend](ctx, r.conn.Store, store.SpendKey(r.stage.Run))
	if err != nil || s == nil {
		return rl.Spend{Schema: rl.SpendSchema}, err
	}
	return *s, nil
}

// stopped says how to go on after an interrupt or where a limit is reached.
func (r *rescorer) stopped(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		r.out.say("Stopping. What the judge has answered is kept: the same command goes on where this one stopped.")
	case rl.KindOf(err) == rl.Exhausted:
		limit := "reward.max_usd"
		if e, ok := errors.AsType[*rl.Error](err); ok {
			limit = e.At
		}
		return fmt.Errorf("%w\nwhat the judge has answered is kept; raise the limit with `longhaul set %s %s=N --why TEXT%s` (of a run that has ended: with --set %s=N here), and the same command goes on",
			err, r.stage.Run, limit, r.dataFlag(), limit)
	}
	return err
}
