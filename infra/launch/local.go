//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { Register("local", openLocal) }

// local runs jobs as processes of this machine, which outlive the one that starts them: a job has a session of its own,
// and holds, by a descriptor that it inherits, the lock of its directory for as long as anything of it lives. So it is
// found again by whoever comes to the directory next, and there cannot be two. What is kept of a job (localdir.go):
//
//	DIR/NAME/job.json       the job, as it was first asked for
//	DIR/NAME/lock           locked while an attempt runs, or is being started
//	DIR/NAME/<n>/log.txt    what the n-th attempt wrote, and log.1.txt, what it wrote before, where that is long
//	DIR/NAME/<n>/{pid,exit} its process group, and how it ended; without exit it was killed with its shell
//
// An attempt whose end is noted is over, though it may have left processes that hold the lock still: those are ended
// (localstray.go).
type local struct {
	dir    string
	python string
	owner  string // this host
	secret map[string]string
}

func openLocal(u rl.UpdateConfig, h Host) (Launcher, error) {
	dir, err := filepath.Abs(h.Dir)
	if err != nil {
		return nil, rl.Errorf(rl.Refused, "local jobs", "%w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, rl.Errorf(rl.Refused, "local jobs", "this machine has no name: %w", err)
	}
	return &local{dir: dir, python: u.Local.Python, owner: host, secret: h.Secret}, nil
}

func (l *local) place(job Job) localdir { return localdir(filepath.Join(l.dir, job.Name())) }

// Ensure starts a process where none runs.
func (l *local) Ensure(ctx context.Context, job Job, attempt int) error {
	d := l.place(job)
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return d.failed(err)
	}
	lock, err := l.await(ctx, d, attempt)
	if err != nil || lock == nil { // it runs
		return err
	}
	defer lock.Close() // the process has a descriptor of its own
	if err := d.same(job); err != nil {
		return err
	}
	last, err := d.last()
	if err != nil || last >= attempt {
		return err
	}
	if err := l.start(d, job, attempt, lock); err != nil {
		return err
	}
	return l.sweep()
}

// await is the lock of a job, for an attempt to be started; nil where one runs, or somebody else has started this one. While the lock is
// held by what the last attempt has left, which is ended, or for another's look, it is waited for.
func (l *local) await(ctx context.Context, d localdir, attempt int) (*os.File, error) {
	for {
		lock, free, err := d.lock(syscall.LOCK_EX)
		if err != nil || free {
			return lock, err
		}
		last, err := d.last()
		if err != nil || last >= attempt || !d.noted(last) {
			return nil, err
		}
		if err := l.endStrays(d); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, rl.Errorf(rl.Unavailable, d.at(), "its attempt %d does not end: %w", last, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Poll looks at the lock, and at what the last attempt left. Of one that has ended nothing is left running.
func (l *local) Poll(_ context.Context, job Job) (Status, error) {
	d := l.place(job)
	lock, free, err := d.lock(syscall.LOCK_SH) // nobody starts another attempt between the two looks
	if errors.Is(err, fs.ErrNotExist) {
		return Status{State: Absent}, nil
	}
	if err != nil {
		return Status{}, err
	}
	if free {
		defer lock.Close()
	}
	n, err := d.last()
	if err != nil || n == 0 && free {
		return Status{State: Absent}, err
	}
	s := Status{State: Running, Attempt: max(n, 1), Identity: l.owner}
	if pid, err := d.pid(n); err == nil {
		s.Identity = fmt.Sprintf("process %d of %s", pid, l.owner)
	}
	_ = d.turn(n) // a log that cannot be bounded now is tried again at the next look, and hides nothing of the job
	began, ended := d.times(n)
	if !free && !d.noted(n) {
		d.see()
		if !began.IsZero() {
			s.Ran = max(0, time.Since(began)) // the clock may have been set back
		}
		return s, nil
	}
	if err := l.endStrays(d); err != nil {
		return s, err
	}
	s.Ran = max(0, ended.Sub(began))
	s.Exit, s.Why = d.exit(n)
	switch s.Exit {
	case ExitDone:
		s.State = Done
	case ExitPermanent:
		s.State = Failed
	default:
		s.State = Lost
	}
	return s, nil
}

// grace is how long a job has, after SIGTERM, to leave what it can.
const grace = 30 * time.Second

// Cancel sends SIGTERM to the job's processes, after a while SIGKILL, and waits until its lock is free.
func (l *local) Cancel(ctx context.Context, job Job) error {
	d := l.place(job)
	began, told := time.Now(), false
	for {
		lock, free, err := d.lock(syscall.LOCK_SH)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if free {
			return lock.Close()
		}
		if n, err := d.last(); err == nil && d.noted(n) {
			return l.endStrays(d)
		}
		// The lock is held and no end noted, so the group is the job's: its number is taken for as long as one of it lives.
		if pid, err := d.running(); err == nil && !told {
			_ = syscall.Kill(-pid, syscall.SIGTERM)
			told = true
		} else if err == nil && time.Since(began) > grace {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return rl.Errorf(rl.Unavailable, d.at(), "it does not end: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Logs is the last attempt's log, or what is left of one that is long.
func (l *local) Logs(_ context.Context, job Job) (io.ReadCloser, error) {
	d := l.place(job)
	n, err := d.last()
	if err != nil {
		return nil, err
	}
	return d.log(n)
}
