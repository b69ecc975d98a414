package s3

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The index is a bbolt file. Its one root bucket holds a bucket per S3 bucket, which maps keys to entries.
// The root's name is the version of this layout.
var root = []byte("objects/1")

// inline is the largest content, in bytes, that lives in the index: a small write then costs one transaction and
// no file.
const inline = 64 << 10

// entry is an object. It is stored as the length of its JSON (varint), its JSON, and the content when Blob is empty.
type entry struct {
	Blob     string            `json:"blob,omitempty"` // file in blobs/
	Size     int64             `json:"size"`
	SHA256   []byte            `json:"sha256"` // of the content; its hex is the ETag
	Headers  map[string]string `json:"headers,omitempty"`
	Modified time.Time         `json:"modified"`
	content  []byte
}

func (e entry) encode() ([]byte, error) {
	head, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, 0, len(head)+len(e.content)+4), uint64(len(head)))
	return append(append(b, head...), e.content...), nil
}

// decodeEntry reads a stored entry; its content is part of b.
func decodeEntry(b []byte) (e entry, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return e, errors.New("an index entry is damaged")
	}
	head, content := b[n:n+int(size)], b[n+int(size):]
	if err := json.Unmarshal(head, &e); err != nil {
		return e, fmt.Errorf("an index entry is damaged: %w", err)
	}
	if e.Blob == "" {
		e.content = content
	}
	return e, nil
}

// inIndex reports, without reading all of it, that an entry names no blob: most do not, and each start asks about all of
// them. Of the JSON's fields that of the blob comes first.
func inIndex(b []byte) bool {
	_, n := binary.Uvarint(b)
	return n > 0 && bytes.HasPrefix(b[n:], []byte(`{"size":`))
}

// bucketOf is an S3 bucket's entries, or nil while it has none.
func bucketOf(tx *bolt.Tx, name string) *bolt.Bucket { return tx.Bucket(root).Bucket([]byte(name)) }

// entryIn reads the entry of key; ok is false when there is none, or one so damaged that its content is lost: the
// next write replaces it. Its content is valid during the transaction.
func entryIn(tx *bolt.Tx, bucket, key string) (e entry, ok bool) {
	b := bucketOf(tx, bucket)
	if b == nil {
		return e, false
	}
	v := b.Get([]byte(key))
	if v == nil {
		return e, false
	}
	e, err := decodeEntry(v)
	return e, err == nil
}

// readable is an error when the index, if there is one, cannot be read to its end. bbolt reads it too when it opens it for
// writing, but in a goroutine of its own, where a panic at a damaged page ends the process.
func readable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("it has %d bytes of %d", info.Size(), tx.Size())
		}
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return walk(b) })
	})
}

// walk visits every page of a bucket.
func walk(b *bolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return walk(b.Bucket(k))
		}
		return nil
	})
}

// layout creates the root of an empty index and refuses one of another layout.
func layout(tx *bolt.Tx) error {
	if name, _ := tx.Cursor().First(); name != nil && string(name) != string(root) {
		return fmt.Errorf("the index has layout %q; this longhaul reads %q", name, root)
	}
	_, err := tx.CreateBucketIfNotExists(root)
	return err
}
