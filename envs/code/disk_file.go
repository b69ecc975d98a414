package code

import (
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// handle is a file or a directory of a disk that a program has open. The type of its offset is a parameter since vet takes
// every Seek of an int64 for io.Seeker's.
type handle[T ~int64] struct {
	esys.UnimplementedFile
	disk   *disk
	node   *node
	offset T // in bytes, or entries of a directory
	closed bool
}

func (h *handle[T]) Dev() (uint64, esys.Errno)      { return 0, 0 }
func (h *handle[T]) Ino() (sys.Inode, esys.Errno)   { return h.node.ino, 0 }
func (h *handle[T]) IsDir() (bool, esys.Errno)      { return h.node.children != nil, 0 }
func (h *handle[T]) Stat() (sys.Stat_t, esys.Errno) { return h.node.stat(), 0 }

// Seek is part of sys.File.
func (h *handle[T]) Seek(offset T, whence int) (T, esys.Errno) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += h.offset
	case io.SeekEnd:
		offset += T(len(h.node.content))
	default:
		return 0, esys.EINVAL
	}
	if offset < 0 {
		return 0, esys.EINVAL
	}
	h.offset = offset
	return offset, 0
}

// Close is part of sys.File.
func (h *handle[T]) Close() esys.Errno {
	if !h.closed {
		h.closed = true
		h.disk.open--
		h.node.handles--
		h.disk.forget(h.node)
	}
	return 0
}

// openFile is an open file.
type openFile struct {
	handle[int64]
	reads   bool
	writes  bool
	appends bool
}

func (f *openFile) IsAppend() bool                    { return f.appends }
func (f *openFile) Sync() esys.Errno                  { return 0 }
func (f *openFile) Datasync() esys.Errno              { return 0 }
func (f *openFile) Utimens(int64, int64) esys.Errno   { return 0 }
func (f *openFile) SetAppend(appends bool) esys.Errno { f.appends = appends; return 0 }

func (f *openFile) Read(b []byte) (int, esys.Errno) {
	n, errno := f.Pread(b, f.offset)
	f.offset += int64(n)
	return n, errno
}

func (f *openFile) Pread(b []byte, at int64) (int, esys.Errno) {
	switch {
	case !f.reads:
		return 0, esys.EBADF
	case at < 0:
		return 0, esys.EINVAL
	case at >= int64(len(f.node.content)):
		return 0, 0
	}
	return copy(b, f.node.content[at:]), 0
}

func (f *openFile) Write(b []byte) (int, esys.Errno) {
	if f.appends {
		f.offset = int64(len(f.node.content))
	}
	n, errno := f.Pwrite(b, f.offset)
	f.offset += int64(n)
	return n, errno
}

func (f *openFile) Pwrite(b []byte, at int64) (int, esys.Errno) {
	switch {
	case !f.writes:
		return 0, esys.EBADF
	case at < 0 || at > math.MaxInt64-int64(len(b)):
		return 0, esys.EINVAL
	}
	if end := at + int64(len(b)); end > int64(len(f.node.content)) {
		if errno := f.disk.resize(f.node, end); errno != 0 {
			return 0, errno
		}
	} else if !f.node.own {
		f.node.content, f.node.own = slices.Clone(f.node.content), true
	}
	return copy(f.node.content[at:], b), 0
}

func (f *openFile) Truncate(size int64) esys.Errno {
	if !f.writes {
		return esys.EBADF
	}
	return f.disk.resize(f.node, size)
}

// openDir is an open directory.
type openDir struct{ handle[int64] }

func (o *openDir) Read([]byte) (int, esys.Errno)  { return 0, esys.EISDIR }
func (o *openDir) Write([]byte) (int, esys.Errno) { return 0, esys.EISDIR }

func (o *openDir) Readdir(n int) (out []esys.Dirent, errno esys.Errno) {
	names := slices.Sorted(maps.Keys(o.node.children))
	names = names[min(int(o.offset), len(names)):]
	if n > 0 {
		names = names[:min(n, len(names))]
	}
	for _, name := range names {
		child := o.node.children[name]
		var kind fs.FileMode
		if child.children != nil {
			kind = fs.ModeDir
		}
		out = append(out, esys.Dirent{Ino: child.ino, Name: name, Type: kind})
	}
	o.offset += int64(len(out))
	return out, 0
}

// device is /dev/urandom.
type device struct {
	esys.UnimplementedFile
	random io.Reader
}

func (d *device) IsDir() (bool, esys.Errno) { return false, 0 }
func (d *device) Stat() (sys.Stat_t, esys.Errno) {
	return sys.Stat_t{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o444, Nlink: 1}, 0
}
func (d *device) Close() esys.Errno { return 0 }

func (d *device) Read(b []byte) (int, esys.Errno) {
	n, err := d.random.Read(b)
	if err != nil {
		return n, esys.EIO
	}
	return n, 0
}
