package store

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

// Tasks are those of an update, those of further rounds included, in the order of their groups. Errors: NotFound when
// nothing is sampled yet, else as FindJSON.
func (s *Store) Tasks(ctx context.Context, run rl.RunID, n rl.UpdateNumber) (all []rl.Task, err error) {
	key := TasksKey(run, n)
	for round := 1; ; round++ {
		_, tasks, err := FindJSON[[]rl.Task](ctx, s, key)
		if round > 1 && rl.KindOf(err) == rl.NotFound {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, tasks...)
		key = MoreTasksKey(run, n, round)
	}
}
