package main

import (
	"context"
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// readMembers reads a group and all that is known of its episodes.
func (v viewer) readMembers(ctx context.Context, at address) (g shownGroup, err error) {
	tasks, err := v.tasks(ctx, at)
	if err != nil {
		return g, err
	}
	task, err := taskOf(tasks, at, fmt.Sprintf("%s/%d", at.run, at.update))
	if err != nil {
		return g, err
	}
	if g, err = v.readGroup(ctx, at, task); err != nil {
		return g, err
	}
	_, cfg, err := v.store.Config(ctx, at.run)
	if err != nil {
		return g, noRun(at.run, err)
	}
	rows, ledger, err := v.learnt(ctx, at)
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
		e.learnt(rows[m])
		e.Slot = ledger[m]
		g.Members = append(g.Members, e)
	}
	g.Rescored, err = v.rescored(ctx, at)
	return g, err
}

// tasks are those of an address's update, nil when there are none (yet).
func (v viewer) tasks(ctx context.Context, at address) (*[]rl.Task, error) {
	list, err := v.store.Tasks(ctx, at.run, at.update)
	if rl.KindOf(err) == rl.NotFound {
		return nil, nil
	}
	return &list, err
}

// task finds the task of an address in the stored list; where is the id of what lists it.
func (v viewer) task(ctx context.Context, key string, at address, where string) (rl.Task, error) {
	list, err := find[[]rl.Task](ctx, v.store, key)
	if err != nil {
		return rl.Task{}, err
	}
	return taskOf(list, at, where)
}

// taskOf finds the task of an address in a list.
func taskOf(list *[]rl.Task, at address, where string) (rl.Task, error) {
	if list == nil {
		return rl.Task{}, rl.Errorf(rl.NotFound, where, "nothing is stored of it (yet); `longhaul show %s` lists what there is", at.run)
	}
	for _, t := range *list {
		if t.ID == at.task {
			return t, nil
		}
	}
	return rl.Task{}, rl.Errorf(rl.NotFound, "task "+where+"/"+string(at.task), "it is none of its %d tasks; `longhaul show %s` lists them", len(*list), where)
}

func (v viewer) readEpisode(ctx context.Context, e *shownEpisode) (err error) {
	e.Trajectory, err = v.store.Trajectory(ctx, e.Key)
	if rl.KindOf(err) == rl.NotFound {
		e.Failed, err = find[rl.Failure](ctx, v.store, store.FailureKey(e.Key))
	}
	return err
}

// learnt fills in an episode's advantages from its training rows.
func (e *shownEpisode) learnt(rows []rl.Sample) {
	if e.Trajectory == nil {
		return
	}
	if e.Advantages = e.Trajectory.TurnAdvantages(rows); e.Advantages != nil {
		mean := e.Trajectory.MeanAdvantage(e.Advantages)
		e.Advantage = &mean
	}
}

// learnt is what the update's batch and ledger say of the group's members: their training rows and their slots.
func (v viewer) learnt(ctx context.Context, at address) (rows map[int][]rl.Sample, slots map[int]*rl.Slot, err error) {
	rows, slots = map[int][]rl.Sample{}, map[int]*rl.Slot{}
	ledger, err := find[rl.Ledger](ctx, v.store, store.LedgerKey(at.run, at.update))
	if err != nil || ledger == nil {
		return rows, slots, err
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
		return rows, slots, err
	}
	batch, err := store.DecodeBatch(body)
	for _, s := range batch.Samples {
		if s.Episode.Task == at.task {
			rows[s.Episode.Member] = append(rows[s.Episode.Member], s)
		}
	}
	return rows, slots, err
}

// lineage finds the checkpoint that sampled a trajectory, also when gc has retired it. It may be lost: nil then.
func (v viewer) lineage(ctx context.Context, t *rl.Trajectory) (*lineage, error) {
	if t == nil {
		return nil, nil
	}
	run, n, err := t.Policy.First.Parse()
	if err != nil {
		return nil, nil // a server's own name of its model
	}
	ref, c, _, err := v.manifest(ctx, run, n)
	if k := rl.KindOf(err); k == rl.NotFound || k == rl.Corrupt {
		return nil, nil
	}
	return &lineage{Version: c.Version, Manifest: ref, Parent: c.Parent}, err
}
