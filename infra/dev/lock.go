package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/longhaul-rl/longhaul/rl"
)

const lockFile = "lock"

// holder is what the lock file says about the process that holds it. It only feeds error messages: the
// kernel's lock decides, and ends with the process however that dies, so a stale record is no obstacle.
type holder struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Command string    `json:"command"`
}

// hold takes the directory's lock and records this process in it.
func hold(ctx context.Context, dir string, started time.Time) (*flock.Flock, error) {
	l := flock.New(at(dir, lockFile), flock.SetPermissions(0o600))
	// A short wait: Attach holds the lock for an instant when it looks whether anybody does.
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	ok, err := l.TryLockContext(ctx, 20*time.Millisecond)
	if !ok && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		return nil, rl.Errorf(rl.Conflict, "data directory", "%s is held by %s", dir, readHolder(dir))
	}
	if err != nil {
		return nil, unwritable(dir, err)
	}
	record, err := json.Marshal(holder{PID: os.Getpid(), Started: started, Command: command(os.Args)})
	if err == nil {
		err = os.WriteFile(l.Path(), record, 0o600) // in place: a rename would lose the lock
	}
	if err != nil {
		return nil, errors.Join(unwritable(dir, err), l.Unlock())
	}
	return l, nil
}

// unwritable says what can be done about a directory that cannot be written to.
func unwritable(dir string, err error) error {
	return rl.Errorf(rl.Refused, "data directory", "%s cannot be written to (%w): mend that, or name another directory", dir, err)
}

// held tells whether a process, this one included, holds the directory.
func held(dir string) (bool, error) {
	path := at(dir, lockFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	l := flock.New(path)
	free, err := l.TryRLock()
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", path, err)
	}
	return !free, l.Unlock()
}

func readHolder(dir string) holder {
	var h holder
	if b, err := os.ReadFile(at(dir, lockFile)); err == nil {
		_ = json.Unmarshal(b, &h) // being written this moment: the zero holder is said as "another process"
	}
	return h
}

// String is like "process 1234 (longhaul up, started 12:03)".
func (h holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	layout := "15:04"
	if time.Since(h.Started) > 18*time.Hour {
		layout = "2006-01-02 15:04"
	}
	return fmt.Sprintf("process %d (%s, started %s)", h.PID, h.Command, h.Started.Local().Format(layout))
}

// command is the program's name and subcommand. Its other arguments stay out: they may hold secrets.
func command(args []string) string {
	name := filepath.Base(args[0])
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		name += " " + args[1]
	}
	return name
}
