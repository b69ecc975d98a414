package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shownRescored is a group's scores by another reward.
type shownRescored struct {
	Name   string           `json:"name"` // sha256 of the reward
	By     *rl.RewardConfig `json:"reward"`
	Scores rl.Scores        `json:"scores"`
}

func (v viewer) group(ctx context.Context, at address) error {
	g, err := v.readMembers(ctx, at)
	if err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(g)
	}
	v.out.print("%s %s: mean %.3f, spread %.3f\n", g.ID, g.Task.Kind, g.Mean, g.Std)
	if g.Scores != nil {
		v.judgement(*g.Scores)
	}
	v.out.print("\n")
	v.out.rows(memberRows(g))
	if len(g.Rescored) == 0 {
		return nil
	}
	rows := [][]string{{"RESCORED", "BY", "SCORES", ""}}
	for _, r := range g.Rescored {
		by := r.Scores.Reward
		if r.By != nil {
			by = inWords(*r.By)
		}
		rows = append(rows, []string{fmt.Sprintf("%.12s", r.Name), by, scoreList(r.Scores.Scores), remarks(r.Scores)})
	}
	v.out.print("\n")
	v.out.rows(rows)
	return nil
}

// judgement prints what is to be said of a group's scores as a whole.
func (v viewer) judgement(s rl.Scores) {
	if s.Spent.Calls > 0 {
		v.out.print("judge: %s\n", spentLine(s.Spent))
	}
	if s.Flat != "" {
		v.out.print("flat: %s\n", s.Flat)
	}
	for _, note := range s.Notes {
		v.out.print("note: %s\n", note)
	}
}

// memberRows is a line for each member of a group; with a column for each reward where the score is a sum of several.
func memberRows(g shownGroup) [][]string {
	parts := map[string]bool{}
	for _, e := range g.Members {
		if e.Score != nil {
			for name := range render.Components(*e.Score) {
				parts[name] = true
			}
		}
	}
	head := []string{"EPISODE", "SCORE"}
	names := slices.Sorted(maps.Keys(parts))
	for _, name := range names {
		head = append(head, strings.ToUpper(name))
	}
	rows := [][]string{append(head, "ADVANTAGE", "TURNS", "TOKENS", "STOP", "LEFT OUT", "REASON")}
	for _, e := range g.Members {
		row, reason := episodeRow(e), ""
		cells := slices.Clone(row[:2])
		for _, name := range names {
			cells = append(cells, componentOf(e.Score, name))
		}
		if e.Score != nil && e.Score.Reason != "" {
			reason = inBrief(e.Score.Reason)
		}
		rows = append(rows, append(append(cells, row[2:]...), reason))
	}
	return rows
}

func componentOf(s *rl.Score, name string) string {
	if s != nil {
		if v, ok := render.Components(*s)[name]; ok {
			return fmt.Sprintf("%.4g", v)
		}
	}
	return "-"
}

// rescored reads what other rewards gave a group.
func (v viewer) rescored(ctx context.Context, at address) (all []shownRescored, err error) {
	prefix := store.RescoredPrefix(at.run, at.update, at.task)
	names, err := v.store.Names(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		if strings.HasSuffix(file, "/") { // what was set aside
			continue
		}
		r := shownRescored{Name: strings.TrimSuffix(file, ".json")}
		if _, r.Scores, err = store.FindJSON[rl.Scores](ctx, v.store, prefix+file); err != nil {
			return nil, err
		}
		if r.By, err = find[rl.RewardConfig](ctx, v.store, store.RewardKey(at.run, r.Name)); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
