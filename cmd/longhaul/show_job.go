package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shownJob is the update job of its own that makes an update, or made it, in `show RUN/UPDATE --json`.
type shownJob struct {
	rl.JobRecord
	Progress *rl.JobProgress `json:"progress"` // null: it has told nothing of itself
	Attempts []rl.JobAttempt `json:"attempts"` // those that are over
	Log      string          `json:"log"`      // the end of what the last of them wrote
}

// logShown is how many lines of a log `show` prints.
const logShown = 20

// readJob reads what is recorded of an update's job; nil where the embedded trainer makes the update.
func (v viewer) readJob(ctx context.Context, at address) (*shownJob, error) {
	kept, err := find[rl.JobRecord](ctx, v.store, store.JobRecordKey(at.run, at.update))
	if err != nil || kept == nil {
		return nil, err
	}
	j := &shownJob{JobRecord: *kept, Attempts: []rl.JobAttempt{}}
	if j.Progress, err = find[rl.JobProgress](ctx, v.store, store.JobProgressKey(j.Key)); err != nil {
		return nil, err
	}
	attempts, err := v.store.JobAttempts(ctx, j.Key)
	if err != nil {
		return nil, err
	}
	j.Attempts = append(j.Attempts, attempts...)
	if n := len(j.Attempts); n > 0 {
		text, err := v.store.Get(ctx, store.JobLogKey(j.Key, j.Attempts[n-1].Attempt))
		if err != nil && rl.KindOf(err) != rl.NotFound {
			return nil, err
		}
		lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(text), "\uFFFD"), "\n"), "\n")
		j.Log = strings.Join(lines[max(0, len(lines)-logShown):], "\n")
	}
	return j, nil
}

func (v viewer) job(j shownJob) {
	v.out.print("\njob %s (%s), jobs/%s/\n", j.Name, j.Launcher, j.Key)
	if len(j.Attempts) > 0 {
		rows := [][]string{{"ATTEMPT", "ENDED", "QUEUED", "RAN", "WHERE", "WHY"}}
		for _, a := range j.Attempts {
			rows = append(rows, []string{fmt.Sprint(a.Attempt), a.State, seconds(a.QueuedSeconds), seconds(a.RanSeconds), a.Identity, a.Why})
		}
		v.out.rows(rows)
	}
	if p := j.Progress; p != nil && p.Error != nil {
		v.out.print("attempt %d said: %s\n", p.Attempt, p.Error.Message)
	} else if p != nil && p.Attempt > len(j.Attempts) {
		v.out.print("attempt %d is at %d of %d %s\n", p.Attempt, p.Done, p.Total, p.What)
	}
	for line := range strings.Lines(j.Log) {
		v.out.print("  | %s\n", strings.TrimRight(line, "\n"))
	}
}

func seconds(s float64) string { return render.Duration(time.Duration(s * float64(time.Second))) }

// jobState is "attempt 2 of its job has run for 35 s", or "... been queued for 35 s (Unschedulable: no node has a GPU)".
func jobState(j rl.JobStatus) string {
	if j.State == "queued" {
		why := ""
		if j.Why != "" {
			why = " (" + j.Why + ")"
		}
		return fmt.Sprintf("attempt %d of its job has been queued for %s%s", j.Attempt, seconds(j.QueuedSeconds), why)
	}
	return fmt.Sprintf("attempt %d of its job has run for %s", j.Attempt, seconds(j.RanSeconds))
}

// jobLine is jobState with where to look the job up.
func jobLine(j rl.JobStatus) string {
	line := jobState(j) + ": " + j.Name
	if j.Identity != "" {
		line += ", " + j.Identity
	}
	return line + " (" + j.Launcher + ")"
}

// usedLine is "2 attempts, queued 0 s, ran 35 s (idle 3 s), 0.0243 USD".
func usedLine(u rl.JobUse) string {
	idle := ""
	if u.IdleSeconds > 0 {
		idle = fmt.Sprintf(" (idle %s)", seconds(u.IdleSeconds))
	}
	attempts := "1 attempt"
	if u.Attempts != 1 {
		attempts = fmt.Sprintf("%d attempts", u.Attempts)
	}
	return fmt.Sprintf("%s, queued %s, ran %s%s, %.4f USD", attempts, seconds(u.QueuedSeconds), seconds(u.RanSeconds), idle, u.USD)
}
