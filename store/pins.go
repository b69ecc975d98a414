package store

import (
	"context"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// pinSlack is how long a pin counts after its end: the clocks of its holder and of gc may differ.
const pinSlack = 5 * time.Minute

// Pin keeps gc away from the checkpoint that an update of a run made, for so long or until Unpin. Pinning again under the
// same name extends the lease. Errors: NotFound when there is no such checkpoint, else as Get.
func (s *Store) Pin(ctx context.Context, run rl.RunID, n rl.UpdateNumber, name, who string, lease time.Duration) error {
	ref, _, err := s.FindCheckpoint(ctx, run, n)
	if err != nil {
		return err
	}
	key := PinKey(run, name)
	body, err := encode(key, rl.Pin{Schema: rl.PinSchema, Manifest: ref, For: who, Until: time.Now().UTC().Add(lease)})
	if err != nil {
		return err
	}
	if _, err := s.Put(ctx, key, body); err != nil {
		return err
	}
	err = s.rooted(ctx, key, nil, ref.Key) // see sweep.go
	if _, gone := s.Head(ctx, ref.Key); rl.KindOf(gone) == rl.NotFound {
		return rl.Errorf(rl.NotFound, at(ref.Key), "gc has removed the checkpoint")
	}
	return err
}

// Unpin ends a lease; one that does not exist is no error. Errors as Get.
func (s *Store) Unpin(ctx context.Context, run rl.RunID, name string) error {
	return s.Delete(ctx, PinKey(run, name))
}
