package store

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

// Retired reads what stays of the checkpoint that an update made when retention removed it. A record beside a manifest
// that is there does not count: then gc was killed between the two, or the update was made again. Errors: NotFound,
// Corrupt, else as Get.
func (s *Store) Retired(ctx context.Context, run rl.RunID, n rl.UpdateNumber) (rl.Retired, error) {
	key := RetiredKey(run, n)
	_, r, err := FindJSON[rl.Retired](ctx, s, key)
	if err != nil {
		return r, err
	}
	if err := checkRetired(key, r); err != nil {
		return r, err
	}
	_, err = s.Head(ctx, CheckpointKey(run, n))
	if err == nil {
		return r, rl.Errorf(rl.NotFound, at(key), "the checkpoint is there")
	}
	if rl.KindOf(err) == rl.NotFound {
		err = nil
	}
	return r, err
}

// retired reports whether retention removed the manifest with this key.
func (s *Store) retired(ctx context.Context, key string) (rl.Retired, bool, error) {
	run, n, ok := manifestOf(key)
	if !ok {
		return rl.Retired{}, false, nil
	}
	r, err := s.Retired(ctx, run, n)
	if damaged(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

// retire removes a manifest and leaves a record of it. Killed in between, it is done again.
func (s *Store) retire(ctx context.Context, r rl.Retired) error {
	key := RetiredKey(r.Checkpoint.Run, r.Checkpoint.Update)
	body, err := encode(key, r)
	if err != nil {
		return err
	}
	if _, err := s.Put(ctx, key, body); err != nil {
		return err
	}
	return s.Delete(ctx, r.Manifest.Key)
}

// Recall forgets that checkpoints above an update were retired: a run that fell back to that one makes them again, and
// until each is there its job must count as under way. Errors as Get.
func (s *Store) Recall(ctx context.Context, run rl.RunID, above rl.UpdateNumber) error {
	names, err := s.Names(ctx, RetiredPrefix(run))
	if err != nil {
		return err
	}
	for _, name := range names {
		if n, ok := numberOf(name); ok && n > above {
			if err := s.Delete(ctx, RetiredKey(run, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkRetired(key string, r rl.Retired) error {
	if err := checkSchema(key, r.Schema, rl.RetiredSchema); err != nil {
		return err
	}
	if c := r.Checkpoint; RetiredKey(c.Run, c.Update) != key || r.Manifest.Key != CheckpointKey(c.Run, c.Update) {
		return rl.Errorf(rl.Corrupt, at(key), "it is the record of %s", r.Manifest.Key)
	}
	return nil
}
