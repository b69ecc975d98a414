//go:build unix

package launch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/longhaul-rl/longhaul/rl"
)

// logLimit is how long an attempt's log grows, in bytes, before it is turned: twice as much is on disk at most, and what comes
// between two looks.
const logLimit = 4 << 20

// turn bounds an attempt's log: what is longer than logLimit becomes log.1.txt, its end, and an empty log.txt. The job has the file
// open, to append to it, so it is copied and cut; what is written in the moment between the two is lost.
func (d localdir) turn(attempt int) error {
	path := d.file(attempt, "log.txt")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return d.failed(err)
	}
	defer f.Close()
	was, err := f.Stat()
	if err != nil || was.Size() <= logLimit || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return err // another turns it, or reads
	}
	if was, err = f.Stat(); err != nil || was.Size() <= logLimit {
		return err // another has turned it
	}
	if _, err = f.Seek(-logLimit, io.SeekEnd); err == nil {
		err = d.copied(d.file(attempt, "log.1.txt"), f)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		err = os.Chtimes(path, was.ModTime(), was.ModTime()) // which says when the job last wrote
	}
	if err != nil {
		return d.failed(err)
	}
	return nil
}

// copied makes a file of what r has, in one step.
func (d localdir) copied(path string, r io.Reader) error {
	part, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, r)
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// log is what is left of an attempt's log. It is not turned before it is closed.
func (d localdir) log(attempt int) (io.ReadCloser, error) {
	now, err := os.Open(d.file(attempt, "log.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, rl.Errorf(rl.NotFound, d.at(), "it has no log")
	}
	if err == nil {
		err = syscall.Flock(int(now.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		now.Close()
		return nil, d.failed(err)
	}
	before, err := os.Open(d.file(attempt, "log.1.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		now.Close()
		return nil, d.failed(err)
	}
	return turned{io.MultiReader(before, now), before, now}, nil
}

// turned is a log in two files.
type turned struct {
	io.Reader
	before, now *os.File
}

// Close closes both files.
func (t turned) Close() error { return errors.Join(t.before.Close(), t.now.Close()) }
