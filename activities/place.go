package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Ways of playing a task in an evaluation, by member.
var plays = []string{greedyMember: Greedy, sampledMember: Sampled}

// Names of the ways of play, in keys of the store.
const (
	Greedy  = "greedy"
	Sampled = "sampled"
)

const (
	greedyMember = iota
	sampledMember
)

// tasksKey is where the stage's tasks are listed.
func (s Stage) tasksKey() string {
	if s.Evaluation != "" {
		return store.EvaluationTasksKey(s.Run, s.Update, s.Evaluation)
	}
	return store.TasksKey(s.Run, s.Update)
}

// trajectoryKey is where an episode's trajectory lies. Members of an evaluation are its ways of play.
func (s Stage) trajectoryKey(task rl.TaskID, member int) string {
	if s.Evaluation != "" {
		return store.EvaluationTrajectoryKey(s.Run, s.Update, s.Evaluation, plays[member], task)
	}
	return store.TrajectoryKey(s.episode(task, member))
}

func (s Stage) episode(task rl.TaskID, member int) rl.EpisodeID {
	return rl.EpisodeID{Run: s.Run, Update: s.Update, Task: task, Member: member}
}

// found lists what earlier attempts recorded of the given tasks.
func (s Stage) found(ctx context.Context, st *store.Store, tasks []rl.Task) (map[string]bool, error) {
	prefixes := []string{store.EvaluationPrefix(s.Run, s.Update, s.Evaluation)}
	if s.Evaluation == "" {
		prefixes = nil
		for _, t := range tasks {
			prefixes = append(prefixes, store.GroupPrefix(s.Run, s.Update, t.ID))
		}
	}
	keys := map[string]bool{}
	for _, p := range prefixes {
		for o, err := range st.List(ctx, p) {
			if err != nil {
				return nil, err
			}
			keys[o.Key] = true
		}
	}
	return keys, nil
}
