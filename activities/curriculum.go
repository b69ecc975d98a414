package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// curriculum samples an update's tasks where the curriculum is on. It goes by what is recorded of the update before: its own
// curriculum and its ledger, which are there, since an update is sampled when the one before has its checkpoint. What was
// damaged is worked out again from the newest curriculum before it; a damaged ledger says nothing of its tasks.
func curriculum(ctx context.Context, st *store.Store, cfg rl.Config, world envs.World, in Stage) ([]rl.Task, error) {
	c, err := newestCurriculum(ctx, st, cfg, in)
	if err != nil {
		return nil, err
	}
	tasks, c := take(c, cfg, world.Task)
	for c.Update < in.Update {
		_, ledger, _, err := recorded[rl.Ledger](ctx, st, store.LedgerKey(in.Run, c.Update))
		if err != nil {
			return nil, err
		}
		tasks, c = take(c.After(ledger), cfg, world.Task)
	}
	_, _, err = store.PutJSON(ctx, st, store.CurriculumKey(in.Run, in.Update), c)
	return tasks, err
}

// newestCurriculum is the newest one that is recorded and whole, up to an update's own. Where there is none, the curriculum
// begins: with the update itself, or with the first one whose record was damaged.
func newestCurriculum(ctx context.Context, st *store.Store, cfg rl.Config, in Stage) (rl.Curriculum, error) {
	begins := in.Update
	for n := in.Update; n > 0; n-- {
		_, c, err := store.FindJSON[rl.Curriculum](ctx, st, store.CurriculumKey(in.Run, n))
		switch kind := rl.KindOf(err); {
		case err == nil:
			return c, nil
		case kind == rl.Corrupt:
			begins = n
			continue
		case kind != rl.NotFound:
			return c, err
		}
		if n < in.Update {
			break
		}
	}
	return rl.Curriculum{
		Schema: rl.CurriculumSchema, Run: in.Run, Update: begins, From: (int(begins) - 1) * cfg.Group.PerUpdate, Streaks: []rl.Streak{},
	}, nil
}

// take is an update's tasks, from the stream at c.From on, and c with what that came to: the next group.per_update ones that
// are not to be put off, each once. A task that is to be put off is taken all the same in curriculum.floor of the stream's
// shuffles, evenly spread. Where one whole shuffle has too few tasks to take, the first that were passed over are
// taken after all.
func take(c rl.Curriculum, cfg rl.Config, task func(rl.Split, int) rl.Task) ([]rl.Task, rl.Curriculum) {
	n, off := cfg.Env.Tasks.Train.Len(), c.Off(cfg.Curriculum.Visits)
	whole := (c.From/n + 2) * n // the end of the next shuffle: all tasks have come by then
	sampled, passed := []rl.Task{}, []rl.Task{}
	taken := map[rl.TaskID]bool{} // where two shuffles meet, a task may come twice
	add := func(t rl.Task) {
		if !taken[t.ID] && len(sampled) < cfg.Group.PerUpdate {
			sampled, taken[t.ID] = append(sampled, t), true
		}
	}
	for c.To = c.From; len(sampled) < cfg.Group.PerUpdate && c.To < whole; c.To++ {
		t := task(rl.Train, cfg.Env.Tasks.Train.First+streamed(cfg, c.To))
		if _, putOff := off[t.ID]; putOff && !due(cfg, t.ID, c.To/n) {
			passed = append(passed, t)
		} else {
			add(t)
		}
	}
	c.PutOff = map[rl.Alike]int{}
	for _, t := range passed {
		if add(t); !taken[t.ID] {
			c.PutOff[off[t.ID]]++
			taken[t.ID] = true // counted once
		}
	}
	return sampled, c
}

// streamed is the index of a task in the stream: env.tasks.train in one shuffle after another.
func streamed(cfg rl.Config, at int) int {
	n := cfg.Env.Tasks.Train.Len()
	return shuffled(rl.Seed(cfg.Sampling.Seed, "tasks", at/n), n, at%n)
}

// due reports whether a task that is put off is taken in a shuffle all the same: of any k shuffles in a row that is so in
// k times curriculum.floor, rounded up or down. Tasks differ in where that begins.
func due(cfg rl.Config, task rl.TaskID, shuffle int) bool {
	begin := float64(rl.Seed(cfg.Sampling.Seed, "put off", task)) / (1 << 53)
	taken := func(shuffles int) int { return int(float64(float64(shuffles)*cfg.Curriculum.Floor) + begin) }
	return taken(shuffle+1) > taken(shuffle)
}
