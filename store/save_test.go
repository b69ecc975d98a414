package store_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shards is content of three chunks, the last of them short.
func shards() []byte {
	b := make([]byte, 2*store.ChunkSize+1000)
	rng := rand.NewChaCha8([32]byte{7})
	rng.Read(b)
	return b
}

// What is streamed is what is stored at once, whatever pieces it is read in.
func TestPutFrom(t *testing.T) {
	s, content := inProcess(t), shards()
	want := must[rl.File](t)(s.PutFile(t.Context(), "f", content))
	for name, body := range map[string][]byte{"all": content, "short": content[:10], "empty": nil, "exact": content[:store.ChunkSize]} {
		want := must[rl.File](t)(s.PutFile(t.Context(), name, body))
		got := must[rl.File](t)(s.PutFrom(t.Context(), name, bytes.NewReader(body), int64(len(body))))
		if got.SHA256 != want.SHA256 || got.Size != want.Size || strings.Join(got.Chunks, " ") != strings.Join(want.Chunks, " ") {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
	}
	if _, err := s.PutFrom(t.Context(), "f", bytes.NewReader(content), int64(len(content))+1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that was cut meanwhile: %v", err)
	}
	is(t, s.CheckFiles(t.Context(), []rl.File{want}), "")
}

// counting counts requests for chunks by method, and fails those for one of them.
type counting struct {
	next      http.RoundTripper
	got, sent atomic.Int32
	refused   atomic.Pointer[string]
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/cas/") {
		if bad := c.refused.Load(); bad != nil && strings.Contains(r.URL.Path, *bad) {
			return nil, errors.New("cut off")
		}
		switch r.Method {
		case http.MethodGet:
			c.got.Add(1)
		case http.MethodPut:
			c.sent.Add(1)
		}
	}
	return c.next.RoundTrip(r)
}

// An interrupted save goes on at the chunks that are missing, and a file is under its name only once it is whole.
func TestSaveFilesGoesOn(t *testing.T) {
	counts := &counting{next: inprocess.Transport{Handler: server(t, t.TempDir())}}
	s := through(t, counts)
	content := shards()
	f := must[rl.File](t)(s.PutFile(t.Context(), "sub/model.safetensors", content))
	if counts.sent.Load() != 3 {
		t.Fatalf("%d chunks were sent", counts.sent.Load())
	}
	changed := bytes.Clone(content)
	changed[store.ChunkSize]++
	must[rl.File](t)(s.PutFrom(t.Context(), "next", bytes.NewReader(changed), int64(len(changed))))
	if counts.sent.Load() != 4 {
		t.Errorf("%d chunks were sent, the unchanged ones again", counts.sent.Load())
	}
	dir, before := t.TempDir(), counts.got.Load()
	path := filepath.Join(dir, "sub", "model.safetensors")
	counts.refused.Store(&f.Chunks[1])
	is(t, s.SaveFiles(t.Context(), dir, []rl.File{f}), rl.Unavailable)
	if _, err := os.Stat(path); err == nil {
		t.Error("half a file has the name of a whole one")
	}
	counts.refused.Store(nil)
	for range 2 {
		is(t, s.SaveFiles(t.Context(), dir, []rl.File{f}), "")
	}
	if n := counts.got.Load() - before; n != 3 {
		t.Errorf("%d chunks were read, not each once", n)
	}
	if got := must[[]byte](t)(os.ReadFile(path)); !bytes.Equal(got, content) {
		t.Error("another content")
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	is(t, s.SaveFiles(t.Context(), dir, []rl.File{f}), "")
	if got := must[[]byte](t)(os.ReadFile(path)); !bytes.Equal(got, content) {
		t.Error("a damaged file was left as it was")
	}
}

func TestSaveFilesRefuses(t *testing.T) {
	s, dir := inProcess(t), t.TempDir()
	f := must[rl.File](t)(s.PutFile(t.Context(), "f", []byte("content")))
	for name, c := range map[string]struct {
		change func(*rl.File)
		kind   rl.Kind
	}{
		"a name that leads out": {func(f *rl.File) { f.Name = "../f" }, rl.Invalid},
		"an absolute name":      {func(f *rl.File) { f.Name = "/tmp/f" }, rl.Invalid},
		"another hash":          {func(f *rl.File) { f.SHA256 = strings.Repeat("0", 64) }, rl.Corrupt},
		"another size":          {func(f *rl.File) { f.Size = 8 }, rl.Corrupt},
		"too few chunks":        {func(f *rl.File) { f.Chunks = nil }, rl.Corrupt},
		"no such chunk":         {func(f *rl.File) { f.Chunks = []string{strings.Repeat("0", 64)} }, rl.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			g := f
			c.change(&g)
			is(t, s.SaveFiles(t.Context(), dir, []rl.File{g}), c.kind)
			if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
				t.Error("it was written")
			}
		})
	}
}
