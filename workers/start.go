package workers

import (
	"context"
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// resolveAll is a run's `from` as it is recorded, and the manifests of other runs that it needs: what it starts from and
// the reference of its loss. Errors as resolve.
func resolveAll(ctx context.Context, st *store.Store, cfg rl.Config) (from string, manifests []string, err error) {
	if cfg.From != "" {
		var base string
		if from, base, err = resolve(ctx, st, cfg); err != nil {
			return "", nil, err
		}
		manifests = append(manifests, base)
	}
	reference, err := referenceOf(ctx, st, cfg)
	if reference != "" {
		manifests = append(manifests, reference)
	}
	return from, manifests, err
}

// referenceOf is the manifest that a run's loss compares with; empty when there is none, or when it is the run's own first and
// yet to be made. Errors: NotFound when there is no such checkpoint, or none any more.
func referenceOf(ctx context.Context, st *store.Store, cfg rl.Config) (manifest string, err error) {
	v := cfg.ReferenceVersion()
	if v == "" {
		return "", nil
	}
	run, n, err := v.Parse()
	if err != nil {
		return "", err
	}
	_, _, err = st.FindCheckpoint(ctx, run, n)
	if rl.KindOf(err) != rl.NotFound {
		return store.CheckpointKey(run, n), err
	}
	if _, gone := st.Retired(ctx, run, n); run == cfg.Name && rl.KindOf(gone) == rl.NotFound {
		return "", nil
	}
	return "", rl.Errorf(rl.NotFound, "loss.reference "+string(v), "there is no such checkpoint")
}

// resolve turns a run's `from` into the version that it names now, which is what the run records, and the key of that
// one's manifest. Errors: NotFound when there is no such checkpoint, Invalid when its policy is of another shape.
func resolve(ctx context.Context, st *store.Store, cfg rl.Config) (version, manifest string, err error) {
	s, err := rl.ParseStart(cfg.From)
	if err != nil {
		return "", "", err
	}
	at := "from " + s.String()
	if s.Best {
		ref, err := st.Pointer(ctx, s.Run, store.Best)
		if rl.KindOf(err) == rl.NotFound {
			return "", "", rl.Errorf(rl.NotFound, at, "run %s has no evaluated checkpoint", s.Run)
		}
		if err != nil {
			return "", "", err
		}
		c, err := st.Checkpoint(ctx, ref)
		if err != nil {
			return "", "", err
		}
		s = rl.Start{Run: c.Run, Update: c.Update}
	}
	if _, _, err := st.FindCheckpoint(ctx, s.Run, s.Update); rl.KindOf(err) == rl.NotFound {
		return "", "", rl.Errorf(rl.NotFound, at, "there is no such checkpoint")
	} else if err != nil {
		return "", "", err
	}
	_, its, err := store.FindJSON[rl.Config](ctx, st, store.ConfigKey(s.Run))
	if err == nil && shape(its.Policy) != shape(cfg.Policy) {
		err = rl.Errorf(rl.Invalid, at, "its policy is %s, this run's is %s", shape(its.Policy), shape(cfg.Policy))
	}
	return s.String(), store.CheckpointKey(s.Run, s.Update), err
}

// shape is what two policies must share for the one to start from the other's checkpoint.
func shape(p rl.PolicyConfig) string {
	return fmt.Sprintf("%s of width %d, %d layers, hidden %d, context %d", p.Use, p.Width, p.Layers, p.Hidden, p.Context)
}
