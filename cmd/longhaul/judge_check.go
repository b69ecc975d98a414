package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

func (a *app) judgeCheck() *cobra.Command {
	var by otherReward
	var rubrics []string
	var update, groups int
	c := a.jsonFlag(&cobra.Command{
		Use: "check RUN [--update N] [--groups 32] [--rubric FILE]...", Short: "Measure a judge on recorded groups: does it agree with the outcomes, and with itself?", Args: cobra.ExactArgs(1),
		Long: "check asks a judge twice, in different orders, about groups of a run whose attempts the environment has scored too: the run's\n" +
			"judge, changed as the flags say, with its rubric or with each of several. It tells how often the judge puts two attempts in the\n" +
			"order of their outcomes, how far its two answers are apart, and whether it prefers what it is shown first. The run's own scores\n" +
			"and checkpoints do not change. What it answers is kept and counts toward the run's reward.max_usd: asked again, it costs nothing.",
		Example: "  longhaul judge check orders-1\n  longhaul judge check orders-1 --rubric short.md --rubric long.md --groups 64\n" +
			"  longhaul judge check orders-1 --url http://127.0.0.1:8088/v1 --model judge",
		RunE: func(cmd *cobra.Command, args []string) error {
			one := cmd.Flags().Changed("update")
			switch {
			case one && update < 1:
				return usagef("--update %d: updates count from 1", update)
			case groups < 1 || groups > 100_000:
				return usagef("--groups %d: from 1 to 100000", groups)
			}
			c, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer c.Close()
			updates := []rl.UpdateNumber{rl.UpdateNumber(update)}
			if !one {
				if updates, err = updatesBegun(cmd.Context(), c.Store, rl.RunID(args[0])); err != nil {
					return err
				}
			}
			if len(rubrics) == 0 {
				rubrics = []string{""}
			}
			return a.checkJudges(cmd.Context(), c, rl.RunID(args[0]), by, rubrics, updates, groups)
		},
	})
	c.Flags().IntVar(&update, "update", 0, "groups of this update only")
	c.Flags().IntVar(&groups, "groups", 32, "groups at most, picked at random, the same ones each time")
	c.Flags().StringArrayVar(&rubrics, "rubric", nil, "file that says what makes an attempt good (may be repeated: they are compared)")
	by.flags(c)
	return c
}

// checkedJudge is one object of `judge check --json`: a judge under one rubric.
type checkedJudge struct {
	Run    rl.RunID `json:"run"`
	Rubric string   `json:"rubric"` // the file; empty: the run's own
	Model  string   `json:"model"`
	URL    string   `json:"url"`
	Passes int      `json:"passes"`
	activities.JudgeCheck
}

func (a *app) checkJudges(ctx context.Context, c *conn, run rl.RunID, by otherReward, rubrics []string, updates []rl.UpdateNumber, most int) error {
	var all []checkedJudge
	for _, rubric := range rubrics {
		r, err := a.rescorer(ctx, c, run, by.with(rubric))
		if err != nil {
			return err
		}
		if !r.by.Judges() {
			return usagef("no judge scores run %s: name one with --url and --model", run)
		}
		groups, err := r.acts.CheckGroups(ctx, r.stage, updates, most)
		if err != nil {
			return err
		}
		if len(groups) == 0 {
			return rl.Errorf(rl.NotFound, "run "+string(run), "there are no groups with scores to ask about (yet)")
		}
		found, err := r.acts.CheckJudge(ctx, r.stage, r.by, groups, r.telling(named(rubric)))
		if err != nil {
			return r.stopped(ctx, err)
		}
		one := checkedJudge{run, rubric, r.by.Model, r.by.URL, r.by.Passes, found}
		if a.out.json {
			if err := a.out.object(one); err != nil {
				return err
			}
		}
		all = append(all, one)
	}
	if !a.out.json {
		a.printChecks(all)
	}
	return nil
}

func named(rubric string) string {
	if rubric == "" {
		return "the run's rubric"
	}
	return rubric
}

// printChecks sets rubrics side by side.
func (a *app) printChecks(all []checkedJudge) {
	a.out.print("%s at %s, asked twice, %s each\n\n", all[0].Model, all[0].URL, passes(all[0].Passes))
	var rows [][]string
	for _, line := range []struct {
		name string
		of   func(checkedJudge) string
	}{
		{"rubric", func(c checkedJudge) string { return named(c.Rubric) }},
		{"groups", func(c checkedJudge) string { return fmt.Sprint(c.Groups) }},
		{"attempts (not scored)", func(c checkedJudge) string { return fmt.Sprintf("%d (%d)", c.Members, c.Unscored) }},
		{"groups with outcomes that differ", func(c checkedJudge) string { return fmt.Sprint(c.Informative) }},
		{"pairs in the order of their outcomes", func(c checkedJudge) string { return orNone("%.3f", c.Accuracy) }},
		{"tau-b with the outcomes", func(c checkedJudge) string { return orNone("%.3f", c.TauB) }},
		{"AUC, success against failure", func(c checkedJudge) string { return orNone("%.3f", c.AUC) }},
		{"tau-b with itself", func(c checkedJudge) string { return orNone("%.3f", c.SelfTauB) }},
		{"standard deviation of a score", func(c checkedJudge) string { return orNone("%.3f", c.SelfStd) }},
		{"early places above late ones by", func(c checkedJudge) string {
			return orNone("%+.3f", c.EarlyBias) + " ± " + orNone("%.3f", c.EarlyBiasError)
		}},
		{"pairs that are ties", func(c checkedJudge) string { return orNone("%.3f", c.Ties) }},
		{"calls", func(c checkedJudge) string { return fmt.Sprint(c.Spent.Calls) }},
		{"tokens asked and answered", func(c checkedJudge) string { return fmt.Sprintf("%d, %d", c.Spent.PromptTokens, c.Spent.ReplyTokens) }},
		{"USD", func(c checkedJudge) string { return fmt.Sprintf("%.4f", c.Spent.USD) }},
	} {
		row := []string{line.name}
		for _, c := range all {
			row = append(row, line.of(c))
		}
		rows = append(rows, row)
	}
	a.out.rows(rows)
}
