package code

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is a working directory: content by path, with slashes between. A path that ends in a slash is a directory in which
// there is nothing. There are no links, owners, modes or times in it.
type tree map[string][]byte

// room is what a working directory may take up.
type room struct {
	files int   // and directories
	bytes int64 // of content
}

// pageBytes is what a file system in memory has its contents in.
const pageBytes = 4096

// memory is what a file system in memory needs to hold as much, in bytes: each file's last page is its own.
func (r room) memory() int64 { return r.bytes + pageBytes*int64(r.files) }

// longestPath bounds a path, in bytes.
const longestPath = 512

// errRoom is in the error of a directory that is larger than it may be.
var errRoom = errors.New("the working directory is full")

// local is a path within the working directory, cleaned; or why it is none, in words for the model.
func local(p string) (clean, wrong string) {
	clean = path.Clean(strings.TrimPrefix(p, "/task/"))
	switch {
	case p == "" || clean == "." || !filepath.IsLocal(clean) || strings.ContainsAny(clean, "\x00\\"):
		return "", fmt.Sprintf("%.80q is no path of a file in the working directory", p)
	case len(clean) > longestPath:
		return "", fmt.Sprintf("a path has at most %d bytes", longestPath)
	}
	return clean, ""
}

// put writes a file, or says in words for the model why it cannot be.
func (t tree) put(p string, content []byte, limit room) (wrong string) {
	dir := ""
	for part := range strings.SplitSeq(path.Dir(p), "/") {
		dir = path.Join(dir, part)
		if _, isFile := t[dir]; isFile {
			return dir + " is a file"
		}
	}
	for other := range t {
		if strings.HasPrefix(other, p+"/") {
			return p + " is a directory"
		}
	}
	was, existed := t[p]
	t[p] = content
	if err := t.fits(limit); err != nil {
		if delete(t, p); existed {
			t[p] = was
		}
		return err.Error()
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		delete(t, dir+"/") // there is something in it now
	}
	return ""
}

// fits reports whether there is room for the tree.
func (t tree) fits(limit room) error {
	var n int64
	for _, content := range t {
		n += int64(len(content))
	}
	if n > limit.bytes {
		return fmt.Errorf("%w: it holds at most %d bytes", errRoom, limit.bytes)
	}
	if len(t) > limit.files {
		return fmt.Errorf("%w: it holds at most %d files", errRoom, limit.files)
	}
	return nil
}

// pack writes the tree as a tar archive: the same tree, the same bytes.
func (t tree) pack(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, p := range slices.Sorted(maps.Keys(t)) {
		h := &tar.Header{Name: p, Mode: 0o644, Size: int64(len(t[p])), Typeflag: tar.TypeReg}
		if strings.HasSuffix(p, "/") {
			h.Mode, h.Typeflag = 0o755, tar.TypeDir
		}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(t[p]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// unpack reads a tar archive that anybody may have written. What is neither a file nor a directory, and names that cannot be kept,
// are left out and listed. Errors: errRoom, and those of an archive that cannot be read.
func unpack(r io.Reader, limit room) (t tree, leftOut []string, err error) {
	t = tree{}
	left := limit.bytes
	archive := tar.NewReader(r)
	for entries := 0; ; entries++ {
		h, err := archive.Next()
		if err == io.EOF {
			return t.tidy(), leftOut, t.fits(limit)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("half an archive: %w", err)
		}
		if entries > 4*limit.files+16 {
			return nil, nil, fmt.Errorf("%w: it holds at most %d files", errRoom, limit.files)
		}
		p, wrong := local(strings.TrimPrefix(h.Name, "./"))
		switch {
		case path.Clean(h.Name) == ".": // the directory itself
		case wrong != "":
			leftOut = append(leftOut, h.Name)
		case h.Typeflag == tar.TypeDir:
			t[p+"/"] = nil
		case h.Typeflag == tar.TypeReg:
			var b bytes.Buffer
			if _, err := io.Copy(&b, io.LimitReader(archive, left+1)); err != nil {
				return nil, nil, fmt.Errorf("half an archive: %w", err)
			}
			if left -= int64(b.Len()); left < 0 {
				return nil, nil, fmt.Errorf("%w: it holds at most %d bytes", errRoom, limit.bytes)
			}
			t[p] = b.Bytes()
		default:
			leftOut = append(leftOut, p)
		}
	}
}

// tidy leaves out directories that have something in them: their files say that they are there. Of a file and a directory
// under one name the file is left out.
func (t tree) tidy() tree {
	for p := range t {
		for dir := path.Dir(strings.TrimSuffix(p, "/")); dir != "."; dir = path.Dir(dir) {
			delete(t, dir+"/")
			delete(t, dir)
		}
		if strings.HasSuffix(p, "/") {
			delete(t, strings.TrimSuffix(p, "/"))
		}
	}
	return t
}

// clone is the tree with a map of its own; contents are never changed in place.
func (t tree) clone() tree { return maps.Clone(t) }
