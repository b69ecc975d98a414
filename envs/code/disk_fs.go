package code

import (
	"io/fs"
	"path"
	"strings"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// mostOpen is how many files a program may have open.
const mostOpen = 256

// OpenFile is part of sys.FS.
func (d *disk) OpenFile(p string, flag esys.Oflag, _ fs.FileMode) (esys.File, esys.Errno) {
	if p := path.Clean(p); p == "dev/random" || p == "dev/urandom" {
		return &device{random: d.random}, 0
	}
	writes := flag&(esys.O_WRONLY|esys.O_RDWR) != 0
	n, errno := d.at(p)
	switch {
	case d.open >= mostOpen:
		return nil, esys.EAGAIN
	case errno == esys.ENOENT && flag&esys.O_CREAT != 0:
		if n, errno = d.add(p, nil); errno != 0 {
			return nil, errno
		}
	case errno != 0:
		return nil, errno
	case flag&esys.O_CREAT != 0 && flag&esys.O_EXCL != 0:
		return nil, esys.EEXIST
	case n.children != nil && writes:
		return nil, esys.EISDIR
	case n.children == nil && flag&esys.O_DIRECTORY != 0:
		return nil, esys.ENOTDIR
	case writes && flag&esys.O_TRUNC != 0:
		d.resize(n, 0)
	}
	n.handles++
	d.open++
	h := handle[int64]{disk: d, node: n}
	if n.children != nil {
		return &openDir{h}, 0
	}
	return &openFile{handle: h, writes: writes, reads: flag&esys.O_WRONLY == 0, appends: flag&esys.O_APPEND != 0}, 0
}

// Stat is part of sys.FS.
func (d *disk) Stat(p string) (sys.Stat_t, esys.Errno) {
	n, errno := d.at(p)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	return n.stat(), 0
}

// Lstat is Stat: there are no links.
func (d *disk) Lstat(p string) (sys.Stat_t, esys.Errno) { return d.Stat(p) }

// Mkdir is part of sys.FS.
func (d *disk) Mkdir(p string, _ fs.FileMode) esys.Errno {
	_, errno := d.add(p, map[string]*node{})
	return errno
}

// Rmdir is part of sys.FS.
func (d *disk) Rmdir(p string) esys.Errno { return d.remove(p, true) }

// Unlink is part of sys.FS.
func (d *disk) Unlink(p string) esys.Errno { return d.remove(p, false) }

func (d *disk) remove(p string, directory bool) esys.Errno {
	dir, name, errno := d.place(p)
	if errno != 0 {
		return errno
	}
	n := dir.children[name]
	switch {
	case n == nil:
		return esys.ENOENT
	case directory && n.children == nil:
		return esys.ENOTDIR
	case !directory && n.children != nil:
		return esys.EISDIR
	case len(n.children) > 0:
		return esys.ENOTEMPTY
	}
	delete(dir.children, name)
	n.linked = false
	d.forget(n)
	return 0
}

// Rename is part of sys.FS.
func (d *disk) Rename(from, to string) esys.Errno {
	source, name, errno := d.place(from)
	if errno != 0 {
		return errno
	}
	target, as, errno := d.place(to)
	n := source.children[name]
	switch {
	case errno != 0:
		return errno
	case n == nil:
		return esys.ENOENT
	case target.children[as] == n:
		return 0
	case strings.HasPrefix(path.Clean(to)+"/", path.Clean(from)+"/"):
		return esys.EINVAL
	case target.children[as] != nil:
		if n.children == nil && target.children[as].children != nil {
			return esys.EISDIR
		}
		if errno := d.remove(to, n.children != nil); errno != 0 {
			return errno
		}
	}
	delete(source.children, name)
	target.children[as] = n
	return 0
}

// Utimens does nothing: there are no times.
func (d *disk) Utimens(string, int64, int64) esys.Errno { return 0 }
