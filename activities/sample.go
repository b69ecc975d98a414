package activities

import (
	"context"
	"encoding/binary"

	"crypto/sha256"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// SampleGroupIn asks for the tasks of an update or an evaluation, or, from round 1 on, for so many further ones for an
// update whose groups were too few to learn from.
type SampleGroupIn struct {
	Stage
	Round  int `json:"round,omitempty"`
	Groups int `json:"groups,omitempty"` // from round 1 on
}

// SampleGroupOut refers to the sampled tasks.
type SampleGroupOut struct {
	Tasks  rl.Ref `json:"tasks"`
	Groups int    `json:"groups"`
}

// SampleGroup chooses the tasks of an update, one group each: the next group.per_update tasks of a fixed
// shuffle of env.tasks.train, which is shuffled anew once it was gone through; with a curriculum, fewer of those that
// taught nothing of late (see curriculum). For an evaluation it takes the first eval.tasks of env.tasks.eval. A further
// round takes tasks that the update does not have yet, from a shuffle of its own; there may be fewer than asked for.
func (a *Activities) SampleGroup(ctx context.Context, in SampleGroupIn) (SampleGroupOut, error) {
	out, err := a.sampleGroup(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) sampleGroup(ctx context.Context, in SampleGroupIn) (SampleGroupOut, error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return SampleGroupOut{}, err
	}
	if err := in.pin(ctx, st); err != nil {
		return SampleGroupOut{}, err
	}
	world, err := a.world(ctx, st, in.Run, cfg.Env)
	if err != nil {
		return SampleGroupOut{}, err
	}
	sampled, key := []rl.Task{}, in.tasksKey() // in group order
	switch {
	case in.Evaluation != "":
		if err := world.Evaluates(); err != nil {
			return SampleGroupOut{}, err
		}
		for i := range min(cfg.Eval.Tasks, cfg.Env.Tasks.Eval.Len()) {
			sampled = append(sampled, world.Task(rl.Eval, cfg.Env.Tasks.Eval.First+i))
		}
	case in.Round > 0:
		key = store.MoreTasksKey(in.Run, in.Update, in.Round)
		if sampled, err = more(ctx, st, cfg, world, in); err != nil {
			return SampleGroupOut{}, err
		}
	case cfg.Curriculum.Floor > 0:
		if sampled, err = curriculum(ctx, st, cfg, world, in.Stage); err != nil {
			return SampleGroupOut{}, err
		}
	default:
		n := cfg.Env.Tasks.Train.Len()
		taken := map[int]bool{}
		for i := range cfg.Group.PerUpdate {
			index := streamed(cfg, (int(in.Update)-1)*cfg.Group.PerUpdate+i)
			// Where one shuffle ends within the update and the next begins, both may give the same task; there is one
			// group of each.
			for k := 0; taken[index] && k < n; k++ {
				index = shuffled(rl.Seed(cfg.Sampling.Seed, "tasks instead", in.Update), n, k)
			}
			taken[index] = true
			sampled = append(sampled, world.Task(rl.Train, cfg.Env.Tasks.Train.First+index))
		}
	}
	ref, sampled, err := store.PutJSON(ctx, st, key, sampled)
	return SampleGroupOut{Tasks: ref, Groups: len(sampled)}, err
}

// more are further tasks for an update: the first in.Groups, in a shuffle of this round, that no earlier round has.
func more(ctx context.Context, st *store.Store, cfg rl.Config, world envs.World, in SampleGroupIn) (sampled []rl.Task, err error) {
	before, err := st.Tasks(ctx, in.Run, in.Update)
	if err != nil {
		return nil, err
	}
	taken := map[rl.TaskID]bool{}
	for _, t := range before {
		taken[t.ID] = true
	}
	sampled = []rl.Task{}
	n := cfg.Env.Tasks.Train.Len()
	seed := rl.Seed(cfg.Sampling.Seed, "more tasks", in.Update, in.Round)
	for i := 0; i < n && len(sampled) < in.Groups; i++ {
		task := world.Task(rl.Train, cfg.Env.Tasks.Train.First+shuffled(seed, n, i))
		if !taken[task.ID] {
			sampled = append(sampled, task)
		}
	}
	return sampled, nil
}

// shuffled is element i of a seeded permutation of 0..n-1, without holding the permutation: a four-round Feistel
// network over the next even power of two, walked until it falls inside (Black and Rogaway, "Ciphers with
// Arbitrary Finite Domains", CT-RSA 2002, section 5 on cycle walking).
func shuffled(seed uint64, n, i int) int {
	half := 1
	for 1<<(2*half) < n {
		half++
	}
	mask := uint64(1)<<half - 1
	x := uint64(i)
	for {
		left, right := x>>half, x&mask
		for round := range 4 {
			left, right = right, left^(feistel(seed, round, right)&mask)
		}
		x = left<<half | right
		if x < uint64(n) {
			return int(x)
		}
	}
}

func feistel(seed uint64, round int, x uint64) uint64 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[0:], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(round))
	binary.LittleEndian.PutUint64(b[16:], x)
	h := sha256.Sum256(b[:])
	return binary.LittleEndian.Uint64(h[:])
}
