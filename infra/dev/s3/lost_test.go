package s3_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/rl"
)

// An index that is gone is no empty store: its blobs stay, for when a copy of it is put back.
func TestAStoreThatLostItsIndexIsRefusedAndKept(t *testing.T) {
	dir := t.TempDir()
	index, blobs := filepath.Join(dir, "index.db"), filepath.Join(dir, "blobs")
	server, err := s3.Open(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), near(server), "large", bytes.Repeat([]byte("x"), 100<<10)); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"missing": func() error { return os.Remove(index) },
		"empty":   func() error { return os.WriteFile(index, nil, 0o600) },
		"garbage": func() error { return os.WriteFile(index, bytes.Repeat([]byte("garbage "), 4096), 0o600) },
		"cut":     func() error { return os.WriteFile(index, whole[:20000], 0o600) },
		"short":   func() error { return os.WriteFile(index, whole[:5000], 0o600) },
		"a page":  func() error { return os.WriteFile(index, scribbled(whole), 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		_, err := s3.Open(dir, keys)
		if rl.KindOf(err) != rl.Corrupt || !strings.Contains(err.Error(), "index.db") || !strings.Contains(err.Error(), "move it aside") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(blobs); err != nil || len(left) != 1 {
			t.Errorf("%s: %d blobs, %v", name, len(left), err)
		}
	}
	if err := os.WriteFile(index, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if server, err = s3.Open(dir, keys); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if got, err := get(t.Context(), near(server), "large", ""); err != nil || len(got) != 100<<10 {
		t.Errorf("put back: %d bytes, %v", len(got), err)
	}
}

// scribbled is an index whose pages after the first two say that they are others.
func scribbled(index []byte) []byte {
	b := bytes.Clone(index)
	for at := 2 * os.Getpagesize(); at < len(b); at += os.Getpagesize() {
		copy(b[at:], "garbage!")
	}
	return b
}
