//go:build unix

package child

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// owner is this process as the owner of its children. All owners of a user share a directory:
//
//	TMPDIR/longhaul-children-UID/NAME.lease   locked for as long as the owner lives
//	TMPDIR/longhaul-children-UID/NAME/        its directories, see Dir
type owner struct {
	name  string
	home  string // of all owners
	lease *os.File
}

// self is this process as an owner; nil: it has had no children yet.
var self struct {
	sync.Mutex
	*owner
}

// own makes this process an owner, which sweeps first: what others left behind goes before anything is added to it.
func own() (*owner, error) {
	self.Lock()
	defer self.Unlock()
	if self.owner != nil {
		return self.owner, nil
	}
	o, err := lease(home())
	if err != nil {
		return nil, err
	}
	if killed, err := sweep(o.home); killed > 0 || err != nil {
		Log.Warn("what a process left behind that was killed is ended", "processes", killed, "error", err)
	}
	self.owner = o
	return o, nil
}

// owned is this process as an owner, if it has had children.
func owned() *owner {
	self.Lock()
	defer self.Unlock()
	return self.owner
}

func home() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("longhaul-children-%d", os.Getuid()))
}

// lease makes an owner.
func lease(home string) (*owner, error) {
	if err := private(home); err != nil {
		return nil, err
	}
	o := &owner{home: home, name: fmt.Sprintf("%d-%s", os.Getpid(), strings.ToLower(rand.Text()[:10]))}
	for {
		f, held, err := lock(o.path())
		if err != nil {
			return nil, err
		}
		if held {
			o.lease = f
			return o, nil
		}
	}
}

func (o *owner) path() string { return filepath.Join(o.home, o.name+".lease") }

// private makes a directory that no other user can put anything into.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory that this user alone can read: remove it", dir)
	}
	return nil
}

// lock opens and locks a file. held is false when somebody else has it, or has just removed it.
func lock(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, f.Close()
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	here, err1 := f.Stat()
	there, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(here, there) {
		return nil, false, f.Close()
	}
	return f, true, nil
}

// sweep ends what owners left behind that live no more, and says how many processes that were. What cannot be removed stays for the
// next owner's.
func sweep(home string) (killed int, err error) {
	leases, err := filepath.Glob(filepath.Join(home, "*.lease"))
	if err != nil {
		return 0, err
	}
	for _, path := range leases {
		f, free, failed := lock(path)
		if free {
			name := strings.TrimSuffix(filepath.Base(path), ".lease")
			killed += killLabelled(label + name + ".")
			failed = os.RemoveAll(filepath.Join(home, name))
			if failed == nil {
				failed = os.Remove(path)
			}
			failed = errors.Join(failed, f.Close())
		}
		err = errors.Join(err, failed)
	}
	return killed, err
}

// Dir makes an empty directory that goes, at the latest, when this process has ended and another one begins to have children.
func Dir() (string, error) {
	o, err := own()
	if err != nil {
		return "", err
	}
	all := filepath.Join(o.home, o.name)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(all, "")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir) // a child that resolves its directory says the same of it
}

// Left counts the processes of this owner's children that live, those that left their groups among them.
func Left() int {
	if o := owned(); o != nil {
		return len(labelled(label + o.name + "."))
	}
	return 0
}

// StopAll kills what this process's children have left running, and removes its directories. It is for the end of the process:
// children that are in use have not been asked to end before.
func StopAll() {
	if o := owned(); o != nil {
		killLabelled(label + o.name + ".")
		_ = os.RemoveAll(filepath.Join(o.home, o.name)) // the next owner's sweep takes what is left
		_ = os.Remove(o.path())
	}
}
