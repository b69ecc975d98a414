package store

import (
	"context"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Restored is a checkpoint of which every byte was checked.
type Restored struct {
	Checkpoint rl.Checkpoint
	Ref        rl.Ref  // its manifest
	Skipped    []Fault // newer checkpoints that could not be used, newest first, and why: tell a person
}

// Restore reads the checkpoint that `from` refers to, or the run's Latest when from is nil, and checks all of it.
// When it is damaged or missing, Restore falls back to its parent; when it cannot even be read, to the run's next
// lower manifest; and so on. What was passed over is in Skipped, also when the error is not nil.
// Errors: NotFound when the run has no checkpoint, Corrupt when none is good. Refused and Unavailable end it at
// once: an endpoint that does not answer says nothing about the checkpoint.
func (s *Store) Restore(ctx context.Context, run rl.RunID, from *rl.Ref) (Restored, error) {
	var r Restored
	next, err := s.start(ctx, run, from, &r)
	tried := map[string]bool{}
	for ; err == nil && next != nil; next, err = s.before(ctx, run, *next, r.Checkpoint, tried) {
		tried[next.Key] = true
		r.Ref, r.Checkpoint = *next, rl.Checkpoint{}
		if err = s.load(ctx, run, &r); err == nil {
			return r, nil
		}
		if !damaged(err) {
			break
		}
		if _, retired, _ := s.retired(ctx, next.Key); !retired { // else gc's doing, and no damage
			r.Skipped = append(r.Skipped, fault(next.Key, err))
		}
	}
	r = Restored{Skipped: r.Skipped}
	switch {
	case err != nil:
		return r, err
	case len(r.Skipped) == 0:
		return r, rl.Errorf(rl.NotFound, at(CheckpointPrefix(run)), "run %q has no checkpoint", run)
	}
	return r, rl.Errorf(rl.Corrupt, at(CheckpointPrefix(run)), "none of %d checkpoints is good; the newest: %s: %s", len(tried), r.Skipped[0].Key, r.Skipped[0].Why)
}

// damaged says whether an error is about the stored object, and not about reaching it.
func damaged(err error) bool {
	return rl.KindOf(err) == rl.Corrupt || rl.KindOf(err) == rl.NotFound
}

// start is the manifest to try first. A pointer that is gone or damaged is passed over too.
func (s *Store) start(ctx context.Context, run rl.RunID, from *rl.Ref, r *Restored) (*rl.Ref, error) {
	if from != nil {
		return from, nil
	}
	ref, err := s.Pointer(ctx, run, Latest)
	if err == nil || !damaged(err) {
		return &ref, err
	}
	newest, listErr := s.lower(ctx, run, -1, nil)
	if newest != nil {
		r.Skipped = append(r.Skipped, fault(PointerKey(run, Latest), err))
	}
	return newest, listErr
}

// load reads and checks the manifest r.Ref (its sha256 is unknown when it was found by listing) and all its files.
func (s *Store) load(ctx context.Context, run rl.RunID, r *Restored) (err error) {
	if n, _ := updateOf(r.Ref.Key); r.Ref.SHA256 == "" {
		r.Ref, r.Checkpoint, err = s.FindCheckpoint(ctx, run, n)
	} else {
		r.Checkpoint, err = s.Checkpoint(ctx, r.Ref)
	}
	if err != nil {
		return err
	}
	for _, f := range r.Checkpoint.Files {
		if err := s.CheckFiles(ctx, []rl.File{f}); err != nil {
			return rl.Errorf(rl.KindOf(err), at(r.Ref.Key), "its file %s: %w", f.Name, err)
		}
	}
	return nil
}

// before is the manifest to try after a damaged one: the parent it names, else the run's next lower one; nil when
// there is none left.
func (s *Store) before(ctx context.Context, run rl.RunID, failed rl.Ref, c rl.Checkpoint, tried map[string]bool) (*rl.Ref, error) {
	if c.Parent != nil && !tried[c.Parent.Key] {
		if of, _, ok := manifestOf(c.Parent.Key); !ok || of == run { // another run's is not this run's
			return c.Parent, nil
		}
	}
	n, ok := updateOf(failed.Key)
	if !ok {
		n = -1
	}
	return s.lower(ctx, run, n, tried)
}

// lower is the run's highest manifest below update n (any when n < 0) that was not tried; nil when there is none.
// Its sha256 is not known.
func (s *Store) lower(ctx context.Context, run rl.RunID, n rl.UpdateNumber, tried map[string]bool) (*rl.Ref, error) {
	names, err := s.Names(ctx, CheckpointPrefix(run))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		key := CheckpointPrefix(run) + name
		if m, ok := updateOf(key); ok && (n < 0 || m < n) && !tried[key] {
			return &rl.Ref{Key: key}, nil
		}
	}
	return nil, nil
}
