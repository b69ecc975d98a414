package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// CheckpointIn names the result to make a checkpoint of, and the manifest it was trained from.
type CheckpointIn struct {
	Stage
	Result rl.Ref  `json:"result"`
	Base   *rl.Ref `json:"base,omitempty"`
}

// Checkpoint publishes the manifest of an update and moves the run's `latest` pointer to it, never backwards.
// The chunks are in the store already: chunks, then manifest, then pointer, so that a pointer never names what
// is not there.
func (a *Activities) Checkpoint(ctx context.Context, in CheckpointIn) (rl.Ref, error) {
	ref, err := a.checkpoint(ctx, in)
	return ref, temporalError(ctx, err)
}

func (a *Activities) checkpoint(ctx context.Context, in CheckpointIn) (rl.Ref, error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return rl.Ref{}, err
	}
	if in.Update == 0 {
		if in.Base, err = start(ctx, st, cfg); err != nil {
			return rl.Ref{}, err
		}
	}
	result, err := store.GetJSON[rl.UpdateResult](ctx, st, in.Result)
	if err != nil {
		return rl.Ref{}, err
	}
	ref, err := st.PutCheckpoint(ctx, rl.Checkpoint{
		Schema: rl.CheckpointSchema, Run: in.Run, Update: in.Update, Version: rl.VersionOf(in.Run, in.Update), Parent: in.Base,
		Files: result.Files, Metrics: result.Metrics, Formats: result.Formats, Tokenizer: result.Tokenizer,
	})
	if err != nil {
		return rl.Ref{}, err
	}
	return ref, st.MovePointer(ctx, in.Run, store.Latest, ref, true)
}

// PromoteIn names the manifest that is the best so far.
type PromoteIn struct {
	Stage
	Manifest rl.Ref `json:"manifest"`
}

// Promote moves the run's `best` pointer.
func (a *Activities) Promote(ctx context.Context, in PromoteIn) error {
	st, _, err := a.open(ctx, in.Stage)
	if err == nil {
		err = st.MovePointer(ctx, in.Run, store.Best, in.Manifest, false)
	}
	return temporalError(ctx, err)
}
