package main

import (
	"context"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// versionNamed reads RUN, RUN@12, RUN@000012, RUN@latest or RUN@best. Without a version it is the newest checkpoint.
func versionNamed(ctx context.Context, c *conn, name string) (rl.RunID, rl.UpdateNumber, error) {
	if !strings.Contains(name, "@") {
		name += "@" + store.Latest
	}
	if run, pointer, ok := pointerNamed(name); ok {
		n, err := pointedAt(ctx, c.Store, run, pointer)
		return run, n, err
	}
	run, n, err := rl.Version(name).Parse()
	if err != nil {
		return "", 0, err
	}
	_, _, err = c.Store.FindCheckpoint(ctx, run, n)
	if rl.KindOf(err) == rl.NotFound {
		if err := runThere(ctx, c.Store, run); err != nil {
			return "", 0, err
		}
		if r, gone := c.Store.Retired(ctx, run, n); gone == nil {
			return "", 0, rl.Errorf(rl.NotFound, "version "+name, "gc retired this checkpoint on %s: %s", r.Time.Format(time.DateOnly), r.Why)
		}
		err = rl.Errorf(rl.NotFound, "version "+name, "there is no such checkpoint; `longhaul show %s` lists what there is", run)
	}
	return run, n, err
}

// pointerNamed reads RUN@latest and RUN@best.
func pointerNamed(name string) (run rl.RunID, pointer string, ok bool) {
	before, pointer, _ := strings.Cut(name, "@")
	run = rl.RunID(before)
	return run, pointer, run.Valid() && (pointer == store.Latest || pointer == store.Best)
}

// pointedAt is the update whose checkpoint a run's pointer names. The error is NotFound, in a person's words, when there
// is no such run or the pointer was not set yet.
func pointedAt(ctx context.Context, st *store.Store, run rl.RunID, pointer string) (rl.UpdateNumber, error) {
	ref, err := st.Pointer(ctx, run, pointer)
	if rl.KindOf(err) == rl.NotFound {
		if err := runThere(ctx, st, run); err != nil {
			return 0, err
		}
		what := "no checkpoint yet"
		if pointer == store.Best {
			what = "no evaluated checkpoint yet"
		}
		return 0, rl.Errorf(rl.NotFound, "run "+string(run), "it has %s", what)
	}
	if err != nil {
		return 0, err
	}
	ckpt, err := st.Checkpoint(ctx, ref)
	return ckpt.Update, err
}

// runThere is NotFound when the store has no run of this name.
func runThere(ctx context.Context, st *store.Store, run rl.RunID) error {
	_, err := st.Head(ctx, store.ConfigKey(run))
	return noRun(run, err)
}
