package s3

import (
	"bytes"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever bytes the index holds, reading an entry gives an entry or an error, and an entry survives its encoding.
func FuzzEntry(f *testing.F) {
	small, err := entry{Size: 3, SHA256: []byte{1}, Headers: map[string]string{"a": "b"}, Modified: time.Unix(1, 0).UTC(), content: []byte("abc")}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Add(small[:len(small)-4])
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 12))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(b)
		if err != nil {
			return
		}
		again, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		if d, err := decodeEntry(again); err != nil || d.Blob != e.Blob || d.Size != e.Size || !bytes.Equal(d.content, e.content) {
			t.Fatalf("%+v became %+v, %v", e, d, err)
		}
	})
}

func TestLayout(t *testing.T) {
	dir := t.TempDir()
	b, err := openBackend(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = b.db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucket([]byte("objects/0")); err != nil {
			return err
		}
		return tx.DeleteBucket(root)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.close()
	if _, err := openBackend(dir); rl.KindOf(err) != rl.Corrupt {
		t.Errorf("an index of another layout: %v", err)
	}
}
