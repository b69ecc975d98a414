//go:build unix

package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// localdir is where a job's state lies on its machine.
type localdir string

func (d localdir) at() string { return "local job " + filepath.Base(string(d)) }

func (d localdir) failed(err error) error { return rl.Errorf(rl.Unavailable, d.at(), "%w", err) }

func (d localdir) file(attempt int, name string) string {
	return filepath.Join(string(d), strconv.Itoa(attempt), name)
}

// lock tries for the job's lock, to be given back by Close. The error is fs.ErrNotExist when there is no such job.
func (d localdir) lock(how int) (lock *os.File, free bool, err error) {
	flags := os.O_RDWR
	if how == syscall.LOCK_EX {
		flags |= os.O_CREATE
	}
	lock, err = os.OpenFile(filepath.Join(string(d), "lock"), flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err != nil {
		return nil, false, d.failed(err)
	}
	err = syscall.Flock(int(lock.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return lock, true, nil
	}
	lock.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, d.failed(err)
}

// same records the job, or compares it with the one on record. The lock is held.
func (d localdir) same(job Job) error {
	path := filepath.Join(string(d), "job.json")
	b, err := os.ReadFile(path)
	if err == nil {
		var was Job
		if json.Unmarshal(b, &was) != nil || was.Key != job.Key || was.Spec != job.Spec {
			return rl.Errorf(rl.Conflict, d.at(), "there is one with another spec, %.12s at %s, and not %.12s at %s", was.Key, was.Spec, job.Key, job.Spec)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return d.failed(err)
	}
	if b, err = json.Marshal(job); err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return d.failed(err)
	}
	return nil
}

// last is the number of the last attempt, 0 where there was none.
func (d localdir) last() (n int, err error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, d.failed(err)
	}
	for _, e := range entries {
		if i, err := strconv.Atoi(e.Name()); err == nil {
			n = max(n, i)
		}
	}
	return n, nil
}

func (d localdir) number(attempt int, name string) (int, error) {
	b, err := os.ReadFile(d.file(attempt, name))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// pid is an attempt's process group.
func (d localdir) pid(attempt int) (int, error) { return d.number(attempt, "pid") }

// running is the process group of the last attempt.
func (d localdir) running() (int, error) {
	n, err := d.last()
	if err != nil {
		return 0, err
	}
	return d.pid(n)
}

// noted reports whether an attempt's shell has noted how it ended.
func (d localdir) noted(attempt int) bool {
	_, err := d.number(attempt, "exit")
	return err == nil
}

// exit is how an ended attempt ended. Above 128 stand signals in a shell's count; ExitPreempted is one of them.
func (d localdir) exit(attempt int) (code int, why string) {
	code, err := d.number(attempt, "exit")
	switch {
	case err != nil:
		return -1, "it was killed, or its machine was"
	case code == ExitPreempted:
		return code, "it was told to end"
	case code > 128:
		return -1, fmt.Sprintf("it was ended by signal %d (%s)", code-128, syscall.Signal(code-128))
	}
	return code, fmt.Sprintf("exit code %d", code)
}

// see notes that an attempt was seen at work, for when it is killed with its shell.
func (d localdir) see() {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(string(d), "lock"), now, now) // what cannot be noted is counted as less time
}

// times are when an attempt began, and, of one that is over, when it ended: as its shell noted, or when it was last seen.
func (d localdir) times(attempt int) (began, ended time.Time) {
	began = d.changed(attempt, "pid")
	if began.IsZero() {
		began = d.changed(attempt, "")
	}
	if ended = d.changed(attempt, "exit"); !ended.IsZero() {
		return began, ended
	}
	for _, at := range []time.Time{began, d.changed(attempt, "log.txt"), modified(filepath.Join(string(d), "lock"))} {
		if at.After(ended) {
			ended = at
		}
	}
	return began, ended
}

// kept is how long what an ended job left stays.
const kept = 7 * 24 * time.Hour

// sweep removes what jobs left that ended long ago: what is worth keeping of them is in the store.
func (l *local) sweep() error {
	all, err := filepath.Glob(filepath.Join(l.dir, "lh-*"))
	if err != nil {
		return err
	}
	for _, dir := range all {
		d := localdir(dir)
		if s, err := os.Stat(dir); err != nil || time.Since(s.ModTime()) < kept { // when its last attempt was begun
			continue
		}
		lock, free, err := d.lock(syscall.LOCK_EX)
		if err != nil || !free {
			continue
		}
		err = os.RemoveAll(dir)
		lock.Close()
		if err != nil {
			return d.failed(err)
		}
	}
	return nil
}

func (d localdir) changed(attempt int, name string) time.Time { return modified(d.file(attempt, name)) }

// modified is when a file was; the zero time where it is not there.
func modified(path string) (at time.Time) {
	if s, err := os.Stat(path); err == nil {
		at = s.ModTime()
	}
	return at
}
