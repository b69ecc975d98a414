package store

import (
	"context"
	"slices"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// The writer's side of what the top of sweep.go says.

// settle waits while a gc is about to remove one of the keys. Errors as Get.
func (s *Store) settle(ctx context.Context, keys []string) error {
	var seen string
	var first time.Time
	for {
		body, err := s.Get(ctx, sweepKey)
		switch kind := rl.KindOf(err); {
		case kind == rl.NotFound:
			return nil
		case err != nil && kind != rl.Corrupt:
			return err
		}
		note, err := decode[sweepNote](sweepKey, body)
		if err == nil && !slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(note.Keys, key) }) {
			return nil
		}
		if now := SHA256(body); now != seen {
			seen, first = now, time.Now()
		} else if time.Since(first) > sweepLease { // its gc was killed
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// rooted is a writer's steps 3 and 4, once it has recorded key, which refers to files. Errors: Unavailable when gc has
// removed one of them meanwhile, else as Get.
func (s *Store) rooted(ctx context.Context, key string, files []rl.File, also ...string) error {
	keys := append([]string{key}, also...)
	for _, f := range files {
		for _, sum := range f.Chunks {
			keys = append(keys, ChunkKey(sum))
		}
	}
	if err := s.settle(ctx, keys); err != nil {
		return err
	}
	return each(len(keys), readers, func(i int) error {
		_, err := s.Head(ctx, keys[i])
		if rl.KindOf(err) == rl.NotFound {
			return rl.Errorf(rl.Unavailable, at(keys[i]), "gc removed it while %s was being recorded: store it again", key)
		}
		return err
	})
}

// Referred is for a writer that has recorded an object at key which refers to others: it makes sure that gc has not
// removed them meanwhile. Errors: Unavailable when it has, else as Get.
func (s *Store) Referred(ctx context.Context, key string, to ...string) error {
	return s.rooted(ctx, key, nil, to...)
}
