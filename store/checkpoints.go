package store

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

// PutCheckpoint publishes a manifest, whose chunks PutFile has stored. It does not move a pointer.
//
// A manifest at its key that differs is a Conflict, unless a pointer of the run proves that it is damaged: the
// pointer remembers the sha256 of what was published, and that is this manifest. Then it is replaced.
//
// Errors: Conflict, also when gc has retired the checkpoint and its run did not ask for it again (Recall); Invalid (a
// metric without a JSON form); Unavailable when gc removed a chunk meanwhile; else as Get.
func (s *Store) PutCheckpoint(ctx context.Context, c rl.Checkpoint) (rl.Ref, error) {
	key := CheckpointKey(c.Run, c.Update)
	body, err := encode(key, c)
	if err != nil {
		return rl.Ref{}, err
	}
	if _, err := s.Retired(ctx, c.Run, c.Update); err == nil {
		return rl.Ref{}, rl.Errorf(rl.Conflict, at(key), "gc has retired this checkpoint; it is published again only after a fallback to an older one")
	} else if !damaged(err) {
		return rl.Ref{}, err
	}
	ref, err := s.PutNew(ctx, key, body)
	if err == nil {
		return ref, s.rooted(ctx, key, c.Files)
	}
	if rl.KindOf(err) != rl.Conflict {
		return ref, err
	}
	for _, name := range []string{Latest, Best} {
		if published, e := s.Pointer(ctx, c.Run, name); e == nil && published == RefOf(key, body) {
			return s.Put(ctx, key, body)
		}
	}
	return ref, err
}

// Checkpoint reads a manifest. Its files are checked by Restore and ReadFile. Errors: NotFound, Corrupt, else as Get.
func (s *Store) Checkpoint(ctx context.Context, ref rl.Ref) (rl.Checkpoint, error) {
	c, err := GetJSON[rl.Checkpoint](ctx, s, ref)
	if err != nil {
		return c, err
	}
	return c, checkManifest(ref.Key, c)
}

// FindCheckpoint reads the manifest of an update of a run, and its reference. Errors as Checkpoint.
func (s *Store) FindCheckpoint(ctx context.Context, run rl.RunID, n rl.UpdateNumber) (rl.Ref, rl.Checkpoint, error) {
	key := CheckpointKey(run, n)
	ref, c, err := FindJSON[rl.Checkpoint](ctx, s, key)
	if err != nil {
		return ref, c, err
	}
	return ref, c, checkManifest(key, c)
}

// checkManifest tells a manifest from some other JSON.
func checkManifest(key string, c rl.Checkpoint) error {
	if err := checkSchema(key, c.Schema, rl.CheckpointSchema); err != nil {
		return err
	}
	if CheckpointKey(c.Run, c.Update) != key {
		return rl.Errorf(rl.Corrupt, at(key), "it is the manifest of update %d of run %q", c.Update, c.Run)
	}
	return nil
}
