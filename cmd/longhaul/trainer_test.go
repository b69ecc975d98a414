package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// trainer is an update job without Python: it speaks the protocol of docs/decisions/jobs.md as longhaul_trainer does, and
// trains as the embedded trainer does, to the same bytes. LONGHAUL_JOB_PACE is how long it rests between two steps, so that
// it can be met at each; it stays at one while there is a file LONGHAUL_JOB_HOLD; LONGHAUL_JOB_FAULT is what it does wrong, or finds wrong, in its first attempt.
func trainer() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	j := &trainerJob{owner: os.Getenv("LONGHAUL_OWNER"), fault: os.Getenv("LONGHAUL_JOB_FAULT")}
	err := j.open(ctx)
	if err == nil {
		err = j.run(ctx)
	}
	switch {
	case ctx.Err() != nil:
		j.tell(context.WithoutCancel(ctx), rl.JobProgress{What: "stopped"})
		os.Exit(launch.ExitPreempted)
	case err == nil:
		os.Exit(launch.ExitDone)
	}
	fmt.Fprintln(os.Stderr, err)
	j.tell(ctx, rl.JobProgress{What: "failed", Error: &rl.JobError{Kind: rl.KindOf(err), Message: err.Error()}})
	switch rl.KindOf(err) {
	case rl.Invalid, rl.NotFound, rl.Corrupt:
		os.Exit(launch.ExitPermanent)
	}
	os.Exit(launch.ExitRetry)
}

type trainerJob struct {
	uri, key, owner string
	attempt         int
	fault           string
	pace            time.Duration
	store           *store.Store
}

func (j *trainerJob) open(ctx context.Context) (err error) {
	spec := os.Getenv("LONGHAUL_SPEC_URI")
	uri, rest, ok := strings.Cut(spec, "/jobs/")
	if j.key = strings.TrimSuffix(rest, "/spec.json"); !ok || len(j.key) != 64 {
		return rl.Errorf(rl.Invalid, "LONGHAUL_SPEC_URI", "%q", spec)
	}
	j.uri = uri
	j.attempt, _ = strconv.Atoi(os.Getenv("LONGHAUL_ATTEMPT"))
	j.pace, _ = time.ParseDuration(os.Getenv("LONGHAUL_JOB_PACE"))
	if j.attempt != 1 {
		j.fault = ""
	}
	if err := os.WriteFile("trainer", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil { // for whoever wants to kill it
		return err
	}
	j.store, err = store.Open(ctx, uri, store.Options{})
	return err
}

func (j *trainerJob) run(ctx context.Context) error {
	if err := j.damage(ctx); err != nil {
		return err
	}
	spec, err := j.spec(ctx)
	if err != nil {
		return err
	}
	if done, err := j.done(ctx); done || err != nil {
		return err
	}
	if done, err := j.claim(ctx); done || err != nil {
		return err
	}
	began := time.Now()
	if err := j.rest(ctx, 1); err != nil {
		return err
	}
	cfg, err := j.store.ConfigAt(ctx, spec.Config)
	if err != nil {
		return err
	}
	acts := &activities.Activities{Threads: 1, OpenStore: func(context.Context, string) (*store.Store, error) { return j.store, nil }}
	result, err := acts.Train(ctx, j.store, cfg, spec)
	if err != nil {
		return err
	}
	if err := j.rest(ctx, 2); err != nil {
		return err
	}
	result.Spec, result.Owner, result.Seconds = j.key, j.owner, map[string]float64{"train": time.Since(began).Seconds()}
	j.spoil(&result)
	if _, _, err = j.store.PutResult(ctx, j.key, result); err != nil {
		return err
	}
	return j.rest(ctx, 3)
}

// rest tells of a step that is done, and waits a little, or for as long as it is held.
func (j *trainerJob) rest(ctx context.Context, step int) error {
	j.tell(ctx, rl.JobProgress{What: "steps", Done: step, Total: 3})
	for wait := j.pace; ; wait = 10 * time.Millisecond {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		if _, err := os.Stat(os.Getenv("LONGHAUL_JOB_HOLD")); err != nil {
			return nil
		}
	}
}

func (j *trainerJob) tell(ctx context.Context, p rl.JobProgress) {
	if j.store == nil {
		return
	}
	p.Schema, p.Owner, p.Attempt = rl.JobProgressSchema, j.owner, j.attempt
	_, _ = j.store.Put(ctx, store.JobProgressKey(j.key), rl.CanonicalJSON(p)) // what cannot be told is left out
}

func (j *trainerJob) spec(ctx context.Context) (spec rl.UpdateSpec, err error) {
	key := store.JobSpecKey(j.key)
	ref, spec, err := store.FindJSON[rl.UpdateSpec](ctx, j.store, key)
	switch {
	case err != nil:
		return spec, err
	case ref.SHA256 != j.key:
		return spec, rl.Errorf(rl.Corrupt, "spec", "its sha256 is %.12s, which is not its name", ref.SHA256)
	case spec.Schema != rl.UpdateSpecSchema, j.fault == "older trainer":
		return spec, rl.Errorf(rl.Invalid, "spec", "its schema %q is not one that this trainer knows", spec.Schema)
	}
	return spec, nil
}

// done says whether a whole result is there.
func (j *trainerJob) done(ctx context.Context) (bool, error) {
	_, r, err := j.store.JobResult(ctx, j.key)
	if err == nil {
		err = j.store.CheckFiles(ctx, r.Files)
	}
	if k := rl.KindOf(err); k == rl.NotFound || k == rl.Corrupt {
		return false, nil
	}
	return err == nil, err
}

// lease is how long a claim holds that is not renewed: these jobs take less.
const lease = 30 * time.Second

var errClaimed = errors.New("another has the claim")

// claim waits until the claim is this owner's, or the job is done.
func (j *trainerJob) claim(ctx context.Context) (done bool, err error) {
	key := store.JobClaimKey(j.key)
	for {
		_, err = store.ChangeJSON(ctx, j.store, key, func(context.Context) (rl.JobClaim, error) { return rl.JobClaim{}, nil }, func(now rl.JobClaim) (rl.JobClaim, error) {
			until, err := time.Parse(time.RFC3339, now.Until)
			if err == nil && now.Owner != j.owner && time.Now().Before(until) {
				return now, errClaimed
			}
			return rl.JobClaim{Schema: rl.JobClaimSchema, Owner: j.owner, Until: time.Now().Add(lease).UTC().Format(time.RFC3339)}, nil
		})
		if !errors.Is(err, errClaimed) {
			return false, err
		}
		if done, err := j.done(ctx); done || err != nil {
			return done, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
