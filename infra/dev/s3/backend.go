package s3

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rclone/gofakes3"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/longhaul-rl/longhaul/rl"
)

// backend is what the front asks for objects.
type backend struct {
	db      *bolt.DB
	commits *committer
	blobs   blobs
}

func openBackend(dir string) (*backend, error) {
	at := "store " + dir
	b := &backend{blobs: blobs{filepath.Join(dir, "blobs")}}
	if err := os.MkdirAll(b.blobs.dir, 0o700); err != nil {
		return nil, rl.Errorf(rl.Unavailable, at, "%w", err)
	}
	index := filepath.Join(dir, "index.db")
	if err := b.blobs.lost(index); err != nil {
		return nil, rl.Errorf(rl.Corrupt, at, "%w; %s", err, advice(dir))
	}
	err := guarded(func() (err error) {
		if err := readable(index); err != nil {
			return err
		}
		// Without a synced freelist a commit writes less; opening then reads the tree once.
		b.db, err = bolt.Open(index, 0o600, &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType, NoFreelistSync: true})
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, rl.Errorf(rl.Conflict, at, "another process has it open")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSPC):
		return nil, rl.Errorf(rl.Unavailable, at, "%w", err)
	case err != nil:
		return nil, rl.Errorf(rl.Corrupt, at, "index.db cannot be read: %w; %s", err, advice(dir))
	}
	err = guarded(func() error { return errors.Join(b.db.Update(layout), b.blobs.sweep(b.db), syncDir(dir)) })
	if err != nil {
		b.db.Close()
		return nil, rl.Errorf(rl.Corrupt, at, "%w; %s", err, advice(dir))
	}
	b.commits = newCommitter(b.db)
	return b, nil
}

// advice is what can be done about a store that cannot be opened.
func advice(dir string) string {
	return "put " + dir + " back from a copy, or move it aside to begin with an empty store"
}

func (b *backend) close() error {
	b.commits.close()
	return b.db.Close()
}

// find reads an entry whose content exists. Content in the index is copied.
func (b *backend) find(bucket, key string) (e entry, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		var ok bool
		if e, ok = entryIn(tx, bucket, key); !ok {
			return gofakes3.KeyNotFound(key)
		}
		e.content = bytes.Clone(e.content)
		return nil
	})
	return e, failed(err)
}
