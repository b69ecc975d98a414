package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// JobSpecKey is an update job's specification; job is the sha256 of its canonical JSON.
func JobSpecKey(job string) string { return JobPrefix(job) + "spec.json" }

// JobPrefix is where an update job's records lie.
func JobPrefix(job string) string { return "jobs/" + job + "/" }

// JobProgressKey is what a job tells of itself.
func JobProgressKey(job string) string { return JobPrefix(job) + "progress.json" }

// JobClaimKey says who does a job.
func JobClaimKey(job string) string { return JobPrefix(job) + "claim.json" }

// JobAttemptKey is how an attempt at a job ended.
func JobAttemptKey(job string, attempt int) string {
	return fmt.Sprintf("%sattempt-%d.json", JobPrefix(job), attempt)
}

// JobLogKey is what an attempt at a job wrote.
func JobLogKey(job string, attempt int) string {
	return fmt.Sprintf("%slog-%d.txt", JobPrefix(job), attempt)
}

// JobRecordKey says which job makes an update.
func JobRecordKey(run rl.RunID, n rl.UpdateNumber) string { return UpdatePrefix(run, n) + "job.json" }

// JobResultKey is what an update job left behind.
func JobResultKey(job string) string { return JobPrefix(job) + "result.json" }

// PutSpec records an update job's specification, body, whose sha256 is the job's name: anything else that lies in its place
// is damaged and replaced. Errors as Get.
func (s *Store) PutSpec(ctx context.Context, job string, body []byte) error {
	key := JobSpecKey(job)
	_, _, err := s.putFirst(ctx, key, body, func(b []byte) error {
		if SHA256(b) != job {
			return rl.Errorf(rl.Corrupt, at(key), "its sha256 is %.12s, which is not its name", SHA256(b))
		}
		return nil
	})
	return err
}

// PutResult records what an update job left behind, whose chunks PutFile has stored, unless a result is recorded, and
// returns what is. Errors: Unavailable when gc removed the job or a chunk meanwhile (do the job again), else as PutJSON.
func (s *Store) PutResult(ctx context.Context, job string, r rl.UpdateResult) (rl.Ref, rl.UpdateResult, error) {
	key := JobResultKey(job)
	ref, r, err := PutJSON(ctx, s, key, r)
	if err != nil {
		return ref, r, err
	}
	return ref, r, s.rooted(ctx, key, r.Files, JobSpecKey(job))
}

// JobResult reads what a job has recorded. Errors: NotFound when there is none (yet); Corrupt when it is damaged; Conflict
// when it is another job's, or of another schema; else as Get.
func (s *Store) JobResult(ctx context.Context, job string) (rl.Ref, rl.UpdateResult, error) {
	key := JobResultKey(job)
	ref, r, err := FindJSON[rl.UpdateResult](ctx, s, key)
	switch {
	case err != nil:
		return ref, r, err
	case r.Schema != rl.UpdateResultSchema:
		return ref, r, rl.Errorf(rl.Conflict, at(key), "its schema is %q, and this program knows %q: go on with the version that wrote it", r.Schema, rl.UpdateResultSchema)
	case r.Spec != job:
		return ref, r, rl.Errorf(rl.Conflict, at(key), "it is the result of another job, %.12s", r.Spec)
	}
	return ref, r, nil
}

// KeepResult makes sure that what a result refers to is there, and that gc does not remove it, where another process has
// recorded it. Errors: Unavailable when something is missing, else as Get.
func (s *Store) KeepResult(ctx context.Context, job string, r rl.UpdateResult) error {
	return s.rooted(ctx, JobResultKey(job), r.Files, JobSpecKey(job))
}

// JobAttempts are the attempts at a job that are over, in order. Of one whose record is damaged no more is known than that it was.
// Errors as Get.
func (s *Store) JobAttempts(ctx context.Context, job string) (all []rl.JobAttempt, err error) {
	names, err := s.Names(ctx, JobPrefix(job))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n := 0
		if _, err := fmt.Sscanf(name, "attempt-%d.json", &n); err != nil || JobPrefix(job)+name != JobAttemptKey(job, n) {
			continue
		}
		_, t, err := FindJSON[rl.JobAttempt](ctx, s, JobAttemptKey(job, n))
		switch rl.KindOf(err) {
		case rl.NotFound: // gc was faster
			continue
		case rl.Corrupt:
			t, err = rl.JobAttempt{State: "lost", Exit: -1, Why: err.Error()}, nil
		}
		if err != nil {
			return nil, err
		}
		t.Attempt = n
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b rl.JobAttempt) int { return a.Attempt - b.Attempt })
	return all, nil
}
