package s3

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rclone/gofakes3"
	bolt "go.etcd.io/bbolt"
)

// blobs is a directory of contents too large for the index, each a file with a random name.
type blobs struct{ dir string }

func (b blobs) path(name string) string { return filepath.Join(b.dir, name) }

// write stores what it reads as a new blob, durable when it returns, and tells its size, which must be the given
// one unless that is -1. On an error nothing is left.
func (b blobs) write(r io.Reader, want int64) (name string, size int64, err error) {
	name = rand.Text()
	f, err := os.OpenFile(b.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	size, err = io.CopyBuffer(onlyWriter{f}, r, make([]byte, 1<<20))
	if err == nil && want >= 0 && size != want {
		err = gofakes3.ErrIncompleteBody
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = syncDir(b.dir)
	}
	if err != nil {
		b.remove(name)
		return "", 0, err
	}
	return name, size, nil
}

// onlyWriter hides *os.File's ReadFrom, which would ignore the buffer and copy in small pieces.
type onlyWriter struct{ io.Writer }

// remove deletes a blob that no entry names any more. One that cannot be deleted now is swept at the next start.
func (b blobs) remove(name string) {
	if name != "" {
		_ = os.Remove(b.path(name))
	}
}

// exists reports whether an entry's content is there; content in the index always is.
func (b blobs) exists(e entry) bool {
	if e.Blob == "" {
		return true
	}
	_, err := os.Stat(b.path(e.Blob))
	return err == nil
}

// lost is an error when the index is gone, or was cut to nothing, and blobs are there: to begin anew would sweep all of
// them, and a copy of the index may still be found.
func (b blobs) lost(index string) error {
	if i, err := os.Stat(index); err == nil && i.Size() > 0 {
		return nil
	}
	files, err := os.ReadDir(b.dir)
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("index.db is missing or empty, and blobs has %d files that it named", len(files))
	}
	return err
}

// sweep removes the blobs that no entry names: what a crash left behind. When an entry cannot be read nothing is
// removed, since it may have named any of them.
func (b blobs) sweep(db *bolt.DB) error {
	named, unreadable := map[string]bool{}, false
	err := db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(root).ForEachBucket(func(name []byte) error {
			return bucketOf(tx, string(name)).ForEach(func(_, v []byte) error {
				if inIndex(v) {
					return nil
				}
				e, err := decodeEntry(v)
				named[e.Blob] = true
				unreadable = unreadable || err != nil
				return nil
			})
		})
	})
	if err != nil || unreadable {
		return err
	}
	files, err := os.ReadDir(b.dir)
	for _, f := range files {
		if !named[f.Name()] {
			b.remove(f.Name())
		}
	}
	return err
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
