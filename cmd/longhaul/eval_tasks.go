package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// recordTasks writes the tasks that a file lists where their evaluation finds them, and returns the evaluation's key: other tasks
// than the configuration's own, or the same under another configuration, are another evaluation.
func recordTasks(ctx context.Context, st *store.Store, p playing, file string) (key string, tasks int, err error) {
	world, err := envs.Open(ctx, p.config.Env)
	if err != nil {
		return "", 0, err
	}
	indices, err := readIndices(file)
	if err != nil {
		return "", 0, err
	}
	var all []rl.Task
	for _, i := range indices {
		all = append(all, world.Task(rl.Eval, i))
	}
	key = store.SHA256([]byte(p.key + string(rl.CanonicalJSON(all))))[:8]
	_, _, err = store.PutJSON(ctx, st, store.EvaluationTasksKey(p.config.Name, p.update, key), all)
	return key, len(all), err
}

// readIndices reads one index of a task a line; empty lines and what follows a # do not count. The error is Invalid and
// names the line.
func readIndices(file string) (indices []int, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, file, "%w", err)
	}
	seen := map[int]int{}
	for i, line := range strings.Split(string(b), "\n") {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		at := fmt.Sprintf("%s:%d", file, i+1)
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, rl.Errorf(rl.Invalid, at, "%q is not an index of a task, such as 100003", text)
		}
		if first, twice := seen[n]; twice {
			return nil, rl.Errorf(rl.Invalid, at, "task %d is listed in line %d already", n, first)
		}
		seen[n] = i + 1
		indices = append(indices, n)
	}
	if len(indices) == 0 {
		return nil, &rl.Error{Kind: rl.Invalid, At: file, Err: errors.New("it lists no task")}
	}
	return indices, nil
}
