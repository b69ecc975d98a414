package store

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

// Pointer reads what a run's pointer (Latest, Best) refers to. Errors: NotFound when it was never set, Corrupt,
// else as Get.
func (s *Store) Pointer(ctx context.Context, run rl.RunID, name string) (rl.Ref, error) {
	_, ref, err := FindJSON[rl.Ref](ctx, s, PointerKey(run, name))
	if _, ok := updateOf(ref.Key); err == nil && !ok {
		return rl.Ref{}, rl.Errorf(rl.Corrupt, at(PointerKey(run, name)), "it refers to %q, which is no checkpoint", ref.Key)
	}
	return ref, err
}

// MovePointer points a run's pointer at a checkpoint, by compare-and-swap. With forward (Latest) it never goes back
// to a lower update number: moving to an older checkpoint then changes nothing and is no error.
// Errors: Conflict when forward and the pointer names another checkpoint of the same update; Invalid when `to` is no
// checkpoint; else as Get.
func (s *Store) MovePointer(ctx context.Context, run rl.RunID, name string, to rl.Ref, forward bool) error {
	key := PointerKey(run, name)
	body, err := encode(key, to)
	if err != nil {
		return err
	}
	target, ok := updateOf(to.Key)
	if !ok {
		return rl.Errorf(rl.Invalid, at(key), "%q is no checkpoint", to.Key)
	}
	for range contended {
		unmoved, now, err := s.pointerNow(ctx, key)
		if err != nil {
			return err
		}
		if now == to {
			return nil
		}
		if n, ok := updateOf(now.Key); forward && ok && n >= target {
			return passed(key, now, to, n == target)
		}
		if err = s.put(ctx, RefOf(key, body), body, unmoved); rl.KindOf(err) != rl.Conflict {
			return err
		}
	}
	return rl.Errorf(rl.Unavailable, at(key), "it moved under each of %d writes", contended)
}

// passed is the answer when the pointer is where it was to go, or beyond.
func passed(key string, now, to rl.Ref, same bool) error {
	if same {
		return rl.Errorf(rl.Conflict, at(key), "it names %s with sha256 %.12s, not %.12s", now.Key, now.SHA256, to.SHA256)
	}
	return nil
}

// pointerNow reads a pointer and the condition that it has not moved since. A pointer that does not exist or is
// damaged reads as the zero Ref.
func (s *Store) pointerNow(ctx context.Context, key string) (condition, rl.Ref, error) {
	body, etag, err := s.get(ctx, key)
	switch rl.KindOf(err) {
	case "":
		ref, _ := decode[rl.Ref](key, body)
		return ifMatch(etag), ref, nil
	case rl.NotFound:
		return onlyNew, rl.Ref{}, nil
	case rl.Corrupt:
		return ifMatch(etag), rl.Ref{}, nil
	}
	return nil, rl.Ref{}, err
}
