package activities

import (
	"context"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// recentBytes bounds the trajectories that a process keeps at hand, by their rough size in memory.
const recentBytes = 64 << 20

// recent keeps the trajectories that this process stored last, so that judging a group and assembling the batch do
// not read and decode again what was written a moment ago. A stored trajectory never changes, so none gets stale.
type recent struct {
	mu    sync.Mutex
	kept  map[string]*rl.Trajectory
	order []string // oldest first
	bytes int
}

func (r *recent) get(key string) *rl.Trajectory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept[key]
}

func (r *recent) put(key string, t *rl.Trajectory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]*rl.Trajectory{}
	}
	if r.kept[key] != nil {
		return
	}
	r.kept[key], r.order, r.bytes = t, append(r.order, key), r.bytes+roughSize(t)
	for r.bytes > recentBytes {
		oldest := r.order[0]
		r.bytes -= roughSize(r.kept[oldest])
		delete(r.kept, oldest)
		r.order = r.order[1:]
	}
}

// roughSize is about the memory that a trajectory takes, in bytes.
func roughSize(t *rl.Trajectory) int {
	n := 1024
	for _, turn := range t.Turns {
		n += 512 + 4*(len(turn.Action.Prompt)+len(turn.Action.Tokens)+len(turn.Action.LogProbs))
		for _, m := range turn.Observation.Messages {
			n += 128 + len(m.Content)
		}
		n += len(turn.Action.Message.Content)
		for _, c := range turn.Action.Message.ToolCalls {
			n += 128 + len(c.Arguments)
		}
	}
	return n
}

// putTrajectory stores an episode's trajectory, or finds the one that was stored before, and keeps it at hand.
func (a *Activities) putTrajectory(ctx context.Context, st *store.Store, key string, t *rl.Trajectory) (*rl.Trajectory, error) {
	t, err := st.PutTrajectory(ctx, key, t)
	if err == nil {
		a.recent.put(st.String()+"/"+key, t)
	}
	return t, err
}

// trajectory is the one stored under key. Errors as store.Trajectory.
func (a *Activities) trajectory(ctx context.Context, st *store.Store, key string) (*rl.Trajectory, error) {
	if t := a.recent.get(st.String() + "/" + key); t != nil {
		return t, nil
	}
	return st.Trajectory(ctx, key)
}
