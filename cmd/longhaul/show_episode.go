package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shownEpisode is `show RUN/UPDATE/TASK/MEMBER --json`.
type shownEpisode struct {
	ID         string         `json:"id"`         // RUN/UPDATE/TASK/MEMBER
	Key        string         `json:"key"`        // in the store
	Score      *rl.Score      `json:"score"`      // null: not judged yet
	Advantage  *float64       `json:"advantage"`  // null: not trained on
	Slot       *rl.Slot       `json:"ledger"`     // null: the update is not that far
	Failed     *failure       `json:"failed"`     // null: there is a trajectory, or none yet
	Lineage    *lineage       `json:"lineage"`    // of the version that sampled its first turn
	Trajectory *rl.Trajectory `json:"trajectory"` // null: none
}

// failure is how an episode without a trajectory is recorded.
type failure struct {
	LeftOut rl.LeftOut `json:"left_out"`
	Why     string     `json:"why"`
}

// lineage is where a policy version comes from.
type lineage struct {
	Version  rl.Version `json:"version"`
	Manifest rl.Ref     `json:"manifest"`
	Parent   *rl.Ref    `json:"parent"` // null: the initial policy
}

func (v viewer) group(ctx context.Context, at address) error {
	g, err := v.readMembers(ctx, at)
	if err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(g)
	}
	v.out.print("%s %s: mean %.3f, spread %.3f\n\n", g.ID, g.Task.Kind, g.Mean, g.Std)
	rows := [][]string{{"EPISODE", "SCORE", "ADVANTAGE", "TURNS", "TOKENS", "STOP", "LEFT OUT"}}
	for _, e := range g.Members {
		rows = append(rows, episodeRow(e))
	}
	v.out.rows(rows)
	return nil
}

func episodeRow(e shownEpisode) []string {
	row := []string{e.ID, "-", "-", "-", "-", "not done yet", ""}
	if e.Score != nil {
		row[1] = scoreList([]rl.Score{*e.Score})
	}
	if e.Advantage != nil {
		row[2] = fmt.Sprintf("%+.4f", *e.Advantage)
	}
	if t := e.Trajectory; t != nil {
		row[3], row[4], row[5] = strconv.Itoa(len(t.Turns)), strconv.Itoa(t.ActionTokens()), string(t.Stop)
	}
	if e.Failed != nil {
		row[5] = "failed: " + e.Failed.Why
	}
	if e.Slot != nil {
		row[6] = string(e.Slot.LeftOut)
	}
	return row
}

func (v viewer) episode(ctx context.Context, at address) error {
	g, err := v.readMembers(ctx, at)
	if err != nil {
		return err
	}
	if at.member >= len(g.Members) {
		return rl.Errorf(rl.NotFound, fmt.Sprintf("episode %s/%d", g.ID, at.member), "the group has members 0 to %d; `longhaul show %s` lists them", len(g.Members)-1, g.ID)
	}
	e := g.Members[at.member]
	if e.Lineage, err = v.lineage(ctx, e.Trajectory); err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(e)
	}
	rows := [][]string{{"episode", e.ID}, {"task", strings.TrimSpace(string(g.Task.ID) + " " + g.Task.Kind)}}
	v.head(append(rows, lineageRow(e)...), e)
	return nil
}

// head prints what is known of an episode, then the episode itself.
func (v viewer) head(rows [][]string, e shownEpisode) {
	v.out.rows(append(rows, []string{"stored", e.Key}))
	if e.Trajectory == nil {
		why := "it is not done yet"
		if e.Failed != nil {
			why = string(e.Failed.LeftOut) + ": " + e.Failed.Why
		}
		v.out.print("\nThere is no trajectory: %s\n", why)
		return
	}
	shown := render.Episode{Trajectory: e.Trajectory, Score: e.Score, Advantage: e.Advantage}
	if e.Slot != nil {
		shown.LeftOut = string(e.Slot.LeftOut)
	}
	v.out.print("\n%s", render.Trajectory(shown, v.out.width, v.out.style))
}

func lineageRow(e shownEpisode) [][]string {
	if e.Trajectory == nil {
		return nil
	}
	policy := string(e.Trajectory.Policy.First)
	if last := e.Trajectory.Policy.Last; string(last) != policy {
		policy += " to " + string(last)
	}
	if e.Lineage == nil {
		return [][]string{{"policy", policy}}
	}
	parent := "the initial policy"
	if e.Lineage.Parent != nil {
		parent = "trained from " + versionAt(e.Lineage.Parent.Key)
	}
	return [][]string{{"policy", fmt.Sprintf("%s (sha256 %.12s), %s", policy, e.Lineage.Manifest.SHA256, parent)}}
}

// readMembers reads a group and all that is known of its episodes.
func (v viewer) readMembers(ctx context.Context, at address) (g shownGroup, err error) {
	task, err := v.task(ctx, store.TasksKey(at.run, at.update), at, fmt.Sprintf("%s/%d", at.run, at.update))
	if err != nil {
		return g, err
	}
	if g, err = v.readGroup(ctx, at, task); err != nil {
		return g, err
	}
	_, cfg, err := store.FindJSON[rl.Config](ctx, v.store, store.ConfigKey(at.run))
	if err != nil {
		return g, noRun(at.run, err)
	}
	learnt, ledger, err := v.learnt(ctx, at)
	if err != nil {
		return g, err
	}
	for m := range cfg.Group.Size {
		id := rl.EpisodeID{Run: at.run, Update: at.update, Task: at.task, Member: m}
		e := shownEpisode{ID: id.String(), Key: store.TrajectoryKey(id)}
		if err := v.readEpisode(ctx, &e); err != nil {
			return g, err
		}
		if g.Scores != nil && m < len(g.Scores.Scores) {
			e.Score = &g.Scores.Scores[m]
		}
		if a, ok := learnt[m]; ok {
			e.Advantage = &a
		}
		e.Slot = ledger[m]
		g.Members = append(g.Members, e)
	}
	return g, nil
}

// task finds the task of an address in the stored list; where is the id of what lists it.
func (v viewer) task(ctx context.Context, key string, at address, where string) (rl.Task, error) {
	list, err := find[taskList](ctx, v.store, key)
	if err != nil {
		return rl.Task{}, err
	}
	if list == nil {
		return rl.Task{}, rl.Errorf(rl.NotFound, where, "nothing is stored of it (yet); `longhaul show %s` lists what there is", at.run)
	}
	for _, t := range list.Tasks {
		if t.ID == at.task {
			return t, nil
		}
	}
	return rl.Task{}, rl.Errorf(rl.NotFound, "task "+where+"/"+string(at.task), "it is none of its %d tasks; `longhaul show %s` lists them", len(list.Tasks), where)
}

func (v viewer) readEpisode(ctx context.Context, e *shownEpisode) (err error) {
	e.Trajectory, err = v.store.Trajectory(ctx, e.Key)
	if rl.KindOf(err) == rl.NotFound {
		e.Failed, err = find[failure](ctx, v.store, store.FailureKey(e.Key))
	}
	return err
}

// learnt is what the update's batch and ledger say of the group's members. Advantages differ within a row only where
// an estimator works by turns; the first one stands for all.
func (v viewer) learnt(ctx context.Context, at address) (advantages map[int]float64, slots map[int]*rl.Slot, err error) {
	advantages, slots = map[int]float64{}, map[int]*rl.Slot{}
	ledger, err := find[rl.Ledger](ctx, v.store, store.LedgerKey(at.run, at.update))
	if err != nil || ledger == nil {
		return advantages, slots, err
	}
	for i, s := range ledger.Slots {
		if s.Task == at.task {
			slots[s.Member] = &ledger.Slots[i]
		}
	}
	body, err := v.store.Get(ctx, store.BatchKey(at.run, at.update))
	if err != nil {
		if rl.KindOf(err) == rl.NotFound { // not that far
			err = nil
		}
		return advantages, slots, err
	}
	batch, err := store.DecodeBatch(body)
	if err != nil {
		return advantages, slots, err
	}
	for _, s := range batch.Samples {
		if _, seen := advantages[s.Episode.Member]; s.Episode.Task != at.task || seen {
			continue
		}
		for i, trained := range s.LossMask {
			if trained {
				advantages[s.Episode.Member] = float64(s.Advantages[i])
				break
			}
		}
	}
	return advantages, slots, nil
}

// lineage finds the checkpoint that sampled a trajectory. It may be gone (retention): nil then.
func (v viewer) lineage(ctx context.Context, t *rl.Trajectory) (*lineage, error) {
	if t == nil {
		return nil, nil
	}
	run, n, err := t.Policy.First.Parse()
	if err != nil {
		return nil, nil // a server's own name of its model
	}
	ref, c, err := v.store.FindCheckpoint(ctx, run, n)
	if k := rl.KindOf(err); k == rl.NotFound || k == rl.Corrupt {
		return nil, nil
	}
	return &lineage{Version: c.Version, Manifest: ref, Parent: c.Parent}, err
}
