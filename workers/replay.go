package workers

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// replaysTogether is how many replays one workflow does: what it is asked for is part of its history.
const replaysTogether = 8

// Replay does episodes of a run again beside the originals and returns what they came to, in the order of specs. The
// run's configuration cfg lies at ref. Errors: those of the stage, see activities.ReplayEpisode.
func Replay(ctx context.Context, c client.Client, st *store.Store, uri string, cfg rl.Config, ref rl.Ref, specs []rl.ReplaySpec) (out []rl.Replay, err error) {
	var runs []client.WorkflowRun
	for part := range slices.Chunk(specs, replaysTogether) {
		in := workflows.ReplayEpisodesIn{EpisodeTimeout: time.Duration(cfg.Env.EpisodeTimeout)}
		for _, s := range part {
			in.Replays = append(in.Replays, activities.ReplayIn{Stage: activities.Stage{Run: s.Of.Run, Store: uri, Config: ref, Update: s.Of.Update}, Replay: s})
		}
		p := place{c, workflows.ReplayID(part[0], len(part)), st.String()}
		run, err := p.start(ctx, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, workflows.Replay, in)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		if err := run.Get(ctx, nil); err != nil {
			return nil, err
		}
	}
	for _, s := range specs {
		_, r, err := store.FindJSON[rl.Replay](ctx, st, store.ReplayKey(s.Of, s.Number))
		if err == nil && r.ReplaySpec != s {
			err = rl.Errorf(rl.Conflict, "replay of "+s.Of.String(), "number %d was taken by another command at the same time: ask again", s.Number)
		}
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}
