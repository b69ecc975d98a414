package code

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	esys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// disk is a working directory in memory, for a program of WebAssembly. No path of it leads anywhere else.
type disk struct {
	esys.UnimplementedFS
	root   *node
	room   room
	bytes  int64
	nodes  int
	open   int
	full   bool // something was refused for want of room
	random io.Reader
}

// node is a file, or a directory where children is not nil.
type node struct {
	content  []byte
	own      bool // the content is not shared with the tree that the disk was made from
	children map[string]*node
	linked   bool // it has a name
	handles  int
	ino      uint64
}

// newDisk is a disk that holds a tree. What a program reads of /dev/random follows from seed.
func newDisk(t tree, limit room, seed uint64) *disk {
	d := &disk{room: limit, root: &node{children: map[string]*node{}, linked: true}}
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	d.random = rand.NewChaCha8(key)
	for p, content := range t {
		dir, name := d.root, strings.TrimSuffix(p, "/")
		for {
			part, rest, deeper := strings.Cut(name, "/")
			if !deeper && !strings.HasSuffix(p, "/") {
				dir.children[part] = d.node(content, nil)
				break
			}
			if dir.children[part] == nil {
				dir.children[part] = d.node(nil, map[string]*node{})
			}
			if dir, name = dir.children[part], rest; !deeper {
				break
			}
		}
	}
	return d
}

func (d *disk) node(content []byte, children map[string]*node) *node {
	d.nodes++
	d.bytes += int64(len(content))
	return &node{content: slices.Clip(content), children: children, linked: true, ino: uint64(d.nodes)}
}

// tree is what the disk holds.
func (d *disk) tree() tree {
	t := tree{}
	var walk func(p string, n *node)
	walk = func(p string, n *node) {
		if n.children == nil {
			t[p] = n.content
			return
		}
		if len(n.children) == 0 && p != "" {
			t[p+"/"] = nil
		}
		for name, child := range n.children {
			walk(path.Join(p, name), child)
		}
	}
	walk("", d.root)
	return t
}

// at finds the node of a path.
func (d *disk) at(p string) (*node, esys.Errno) {
	n := d.root
	for part := range strings.SplitSeq(path.Clean(p), "/") {
		switch {
		case part == "." || part == "":
		case n.children == nil:
			return nil, esys.ENOTDIR
		case n.children[part] == nil:
			return nil, esys.ENOENT
		default:
			n = n.children[part]
		}
	}
	return n, 0
}

// place is the directory that a path's last part is in, and that part.
func (d *disk) place(p string) (dir *node, name string, errno esys.Errno) {
	p = path.Clean(p)
	dir, errno = d.at(path.Dir(p))
	name = path.Base(p)
	switch {
	case errno != 0:
		return nil, "", errno
	case dir.children == nil:
		return nil, "", esys.ENOTDIR
	case name == "." || name == ".." || name == "/" || len(p) > longestPath || strings.Contains(name, "\\"):
		return nil, "", esys.EINVAL
	}
	return dir, name, 0
}

// add makes a node under a name that is free.
func (d *disk) add(p string, children map[string]*node) (*node, esys.Errno) {
	dir, name, errno := d.place(p)
	if errno != 0 {
		return nil, errno
	}
	if dir.children[name] != nil {
		return nil, esys.EEXIST
	}
	if d.nodes >= d.room.files {
		d.full = true
		return nil, esys.EIO
	}
	n := d.node(nil, children)
	dir.children[name] = n
	return n, 0
}

// resize gives a file a length, if there is room.
func (d *disk) resize(n *node, size int64) esys.Errno {
	grown := size - int64(len(n.content))
	if size < 0 {
		return esys.EINVAL
	}
	if grown > d.room.bytes-d.bytes {
		d.full = true
		return esys.EIO
	}
	d.bytes += grown
	if grown < 0 {
		n.content = slices.Clone(n.content[:size])
	} else if grown > 0 {
		n.content = append(n.content, make([]byte, grown)...)
	} else {
		return 0
	}
	n.own = true
	return 0
}

// forget gives back what a node takes up that has neither a name nor a handle.
func (d *disk) forget(n *node) {
	if !n.linked && n.handles == 0 {
		d.bytes -= int64(len(n.content))
		d.nodes--
	}
}

func (n *node) stat() sys.Stat_t {
	s := sys.Stat_t{Ino: n.ino, Nlink: 1, Size: int64(len(n.content)), Mode: 0o644}
	if n.children != nil {
		s.Mode, s.Size = fs.ModeDir|0o755, 0
	}
	return s
}
