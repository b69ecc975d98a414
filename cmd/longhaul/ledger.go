package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/advantage"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

func (a *app) ledgerCommand() *cobra.Command {
	update := -1
	c := a.jsonFlag(&cobra.Command{
		Use: "ledger RUN [--update N]", Short: "Where every rollout of an update ended: trained on, or why not", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Long: "ledger shows, for each update, how many rollouts were asked for, how many were trained on, and why the others were\n" +
			"left out; the sums must agree. With --update it lists the rollouts of that update one by one. It warns when what is\n" +
			"left out depends on the task or on the length of the episode: then the batch is no fair sample.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer c.Close()
			return a.ledger(cmd.Context(), c, rl.RunID(args[0]), rl.UpdateNumber(update), cmd.Flags().Changed("update"))
		},
	})
	c.Flags().IntVar(&update, "update", 0, "one update, rollout by rollout")
	return c
}

// ledgerEntry is one object of `ledger --json`.
type ledgerEntry struct {
	Run       rl.RunID           `json:"run"`
	Update    rl.UpdateNumber    `json:"update"`
	Asked     int                `json:"asked"`
	Trained   int                `json:"trained"`
	LeftOut   map[rl.LeftOut]int `json:"left_out"`
	Truncated int                `json:"truncated"`
	Tokens    int                `json:"tokens"`
	USD       float64            `json:"usd"` // of the judge and of the update job
	Balanced  bool               `json:"balanced"`
	Bias      []string           `json:"bias"`
	PutOff    map[rl.Alike]int   `json:"put_off,omitempty"` // tasks that the curriculum passed over, by how their groups were alike
	Judge     rl.Spent           `json:"judge"`             // all 0 where no judge was asked
	Job       *rl.JobUse         `json:"job,omitempty"`     // what the update job took, where it was one of its own and is done
	Notes     []rl.Note          `json:"notes,omitempty"`   // how groups were judged, where that is out of the ordinary
	Slots     []rl.Slot          `json:"slots,omitempty"`   // with --update
}

func entryOf(l rl.Ledger) ledgerEntry {
	l.Balance() // what is stored may say otherwise
	e := ledgerEntry{l.Run, l.Update, l.Asked, l.Trained, l.LeftOut, l.Truncated, l.Tokens, l.USD, l.Balanced, advantage.Bias(l), l.PutOff, l.Judge, nil, l.Notes, nil}
	if e.LeftOut == nil {
		e.LeftOut = map[rl.LeftOut]int{}
	}
	if e.Bias == nil {
		e.Bias = []string{}
	}
	return e
}

func (a *app) ledger(ctx context.Context, c *conn, run rl.RunID, update rl.UpdateNumber, one bool) error {
	if _, _, err := store.FindJSON[rl.Config](ctx, c.Store, store.ConfigKey(run)); err != nil {
		return noRun(run, err)
	}
	ledgers, err := readLedgers(ctx, c.Store, run, update, one)
	if err != nil {
		return err
	}
	jobs, err := readUses(ctx, c.Store, ledgers)
	if err != nil {
		return err
	}
	unbalanced := 0
	for i, l := range ledgers {
		e := entryOf(l)
		if e.Job = jobs[i]; e.Job != nil {
			e.USD += e.Job.USD
		}
		if !e.Balanced {
			unbalanced++
		}
		if one {
			e.Slots = l.Slots
		}
		if a.out.json {
			if err := a.out.object(e); err != nil {
				return err
			}
		}
	}
	switch {
	case a.out.json:
	case len(ledgers) == 0:
		a.out.say("run %s has no ledger yet: its first update is not collected; `longhaul show %s/1` goes down to what there is of it", run, run)
	case one:
		a.printSlots(ledgers[0], jobs[0])
	default:
		a.printLedgers(ledgers, jobs)
	}
	if unbalanced > 0 {
		return rl.Errorf(rl.Corrupt, "run "+string(run), "the sums of %d ledgers do not agree", unbalanced)
	}
	return nil
}

// readLedgers reads an update's ledger, or all of a run. NotFound when the update has none.
func readLedgers(ctx context.Context, s *store.Store, run rl.RunID, update rl.UpdateNumber, one bool) (all []rl.Ledger, err error) {
	if one {
		_, l, err := store.FindJSON[rl.Ledger](ctx, s, store.LedgerKey(run, update))
		if rl.KindOf(err) == rl.NotFound {
			err = rl.Errorf(rl.NotFound, fmt.Sprintf("update %s/%d", run, update), "it has no ledger (yet); `longhaul ledger %s` lists those there are", run)
		}
		return []rl.Ledger{l}, err
	}
	for n := rl.UpdateNumber(1); ; n++ {
		_, l, err := store.FindJSON[rl.Ledger](ctx, s, store.LedgerKey(run, n))
		if rl.KindOf(err) == rl.NotFound {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// readUses reads what the update jobs of ledgers took; nil where the update is not done, or no job of its own did it.
func readUses(ctx context.Context, s *store.Store, ledgers []rl.Ledger) ([]*rl.JobUse, error) {
	uses := make([]*rl.JobUse, len(ledgers))
	for i, l := range ledgers {
		u, err := find[rl.UpdateSummary](ctx, s, store.SummaryKey(l.Run, l.Update))
		if err != nil {
			return nil, err
		}
		if u != nil {
			uses[i] = u.Job
		}
	}
	return uses, nil
}

func (a *app) printSlots(l rl.Ledger, job *rl.JobUse) {
	a.out.print("%s\n", ledgerLine(l))
	if l.Judge.Calls > 0 {
		a.out.print("judge: %s\n", spentLine(l.Judge))
	}
	if job != nil {
		a.out.print("update job: %s\n", usedLine(*job))
	}
	for _, n := range l.Notes {
		a.out.print("note: %s/%d/%s: %s\n", l.Run, l.Update, n.Task, n.Text)
	}
	rows := [][]string{{"ROLLOUT", "ENDED", "STOP", "TURNS", "TOKENS", "SCORE", "WHY"}}
	for _, s := range l.Slots {
		ended, score := "trained", fmt.Sprintf("%.3g", s.Score)
		if s.LeftOut != "" {
			ended = string(s.LeftOut)
		}
		if s.Turns == 0 || s.LeftOut == rl.Unscored {
			score = "-"
		}
		rows = append(rows, []string{fmt.Sprintf("%s/%d/%s/%d", l.Run, l.Update, s.Task, s.Member), ended, string(s.Stop), fmt.Sprint(s.Turns), fmt.Sprint(s.Tokens), score, s.Why})
	}
	a.out.rows(rows)
	for _, w := range advantage.Bias(l) {
		a.out.print("warning: %s\n", w)
	}
}

// reasons is "failed_environment 3, zero_variance 40".
func reasons[K ~string](left map[K]int) string {
	var why []string
	for _, r := range slices.Sorted(maps.Keys(left)) {
		why = append(why, fmt.Sprintf("%s %d", r, left[r]))
	}
	return strings.Join(why, ", ")
}
