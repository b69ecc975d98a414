package dev

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// A damaged database is named, with what to do, and left as it is.
func TestADamagedDatabaseIsNamedAndLeft(t *testing.T) {
	dir := t.TempDir()
	if _, err := openDatabase(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, databaseFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal") // SQLite may not have copied it into the database yet
	if err != nil {
		t.Fatal(err)
	}
	if s, err := os.Stat(path); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("mode %o, %v", s.Mode().Perm(), err)
	}
	scribbled := bytes.Clone(whole)
	for at := 8192; at+4096 < len(scribbled); at += 16384 {
		copy(scribbled[at:], bytes.Repeat([]byte{0xff}, 4096))
	}
	for name, content := range map[string][]byte{
		"empty": nil, "garbage": bytes.Repeat([]byte("garbage "), 4096), "cut": whole[:len(whole)/2], "scribbled": scribbled,
	} {
		replace(t, dir, content)
		_, err := Start(t.Context(), Options{Dir: dir, Temporal: true})
		if rl.KindOf(err) != rl.Corrupt || !strings.HasPrefix(err.Error(), path+": it cannot be read (") || !strings.Contains(err.Error(), "move "+path+"* aside") {
			t.Errorf("%s: %v", name, err)
		}
		if b, _ := os.ReadFile(path); !bytes.Equal(b, content) {
			t.Errorf("%s: the database was changed", name)
		}
	}
	replace(t, dir, whole)
	put(t, dir, databaseFile+"-wal", string(wal))
	d, err := Start(t.Context(), Options{Dir: dir, Temporal: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// replace puts another database in the place of dir's.
func replace(t *testing.T, dir string, content []byte) {
	t.Helper()
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.RemoveAll(filepath.Join(dir, databaseFile+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, databaseFile, string(content))
}
