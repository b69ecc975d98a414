package s3

import (
	"bytes"
	"fmt"
	"os"
	"strings"
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
	large, err := entry{Blob: "b", Size: 1 << 20, Modified: time.Unix(1, 0).UTC()}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(large)
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
		if inIndex(again) != (e.Blob == "") {
			t.Fatalf("%+v is in the index: %v", e, inIndex(again))
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

// A start removes the files that no entry names, and none when an entry cannot be read: it may have named any of them.
func TestSweep(t *testing.T) {
	b, err := openBackend(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	write := func(key, value string) {
		t.Helper()
		if err := b.db.Update(func(tx *bolt.Tx) error {
			in, err := tx.Bucket(root).CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return in.Put([]byte(key), []byte(value))
		}); err != nil {
			t.Fatal(err)
		}
	}
	blob := func() string {
		name, _, err := b.blobs.write(strings.NewReader("large"), 5)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	swept := func() (left []string) {
		t.Helper()
		if err := b.blobs.sweep(b.db); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(b.blobs.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			left = append(left, f.Name())
		}
		return left
	}
	for key, e := range map[string]entry{"small": {Size: 3, content: []byte("abc")}, "large": {Blob: blob(), Size: 5}} {
		v, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		write(key, string(v))
	}
	blob()
	if left := swept(); len(left) != 1 {
		t.Errorf("%d files are left of one that is named and one that is not", len(left))
	}
	write("damaged", "\x10{\"blob\":\"ABC")
	blob()
	if left := swept(); len(left) != 2 {
		t.Errorf("%d files are left beside an entry that cannot be read", len(left))
	}
}

// What a start costs: with 100,000 objects of 2 KiB, about 0.1 s.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := openBackend(dir)
	if err != nil {
		b.Fatal(err)
	}
	v, err := entry{Size: 2 << 10, SHA256: make([]byte, 32), Headers: map[string]string{"Content-Type": "application/json"}, Modified: time.Unix(1, 0).UTC(), content: make([]byte, 2<<10)}.encode()
	if err != nil {
		b.Fatal(err)
	}
	for group := range 100 {
		if err := s.db.Update(func(tx *bolt.Tx) error {
			in, err := tx.Bucket(root).CreateBucketIfNotExists([]byte("b"))
			for i := 0; i < 1000 && err == nil; i++ {
				err = in.Put(fmt.Appendf(nil, "runs/r/updates/%08d/groups/train-%d/scores.json", group, i), v)
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	s.close()
	for b.Loop() {
		s, err := openBackend(dir)
		if err != nil {
			b.Fatal(err)
		}
		s.close()
	}
}
