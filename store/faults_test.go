package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// What a status of the server means, and that the words of the server are kept and the secret is not.
func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		kind   rl.Kind
	}{
		{400, "InvalidRequest", rl.Refused}, {401, "Unauthorized", rl.Refused}, {403, "AccessDenied", rl.Refused}, {404, "NoSuchKey", rl.NotFound},
		{404, "NoSuchBucket", rl.NotFound}, {400, "BadDigest", rl.Unavailable}, {409, "OperationAborted", rl.Unavailable}, {412, "PreconditionFailed", rl.Conflict},
		{429, "SlowDown", rl.Unavailable}, {500, "InsufficientStorage", rl.Unavailable}, {501, "NotImplemented", rl.Refused}, {503, "SlowDown", rl.Unavailable},
		{400, "RequestTimeout", rl.Unavailable}, {400, "ExpiredToken", rl.Unavailable}, {403, "RequestTimeTooSkewed", rl.Unavailable}, {403, "RequestExpired", rl.Unavailable},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel() // the SDK waits before it asks again
			s := through(t, transport(func(r *http.Request) (*http.Response, error) {
				body := `<?xml version="1.0"?><Error><Code>` + c.code + `</Code><Message>words of the server</Message></Error>`
				return answer(r, c.status, http.Header{"Content-Type": {"application/xml"}, "Retry-After": {"7"}}, io.NopCloser(strings.NewReader(body))), nil
			}))
			_, err := s.Get(t.Context(), "k")
			is(t, err, c.kind)
			e := err.(*rl.Error)
			if e.At != "store k" || strings.Contains(err.Error(), secretKey) {
				t.Errorf("at %q: %v", e.At, err)
			}
			switch {
			case c.code == "NoSuchBucket":
				if !strings.Contains(err.Error(), `no bucket "bucket"`) {
					t.Error(err)
				}
			case c.status != 404 && !strings.Contains(err.Error(), "words of the server"), e.RetryAfter != 7*time.Second:
				t.Errorf("after %v: %v", e.RetryAfter, err)
			}
		})
	}
}

func TestNoAnswer(t *testing.T) {
	down := errors.New("connection refused")
	s := through(t, transport(func(r *http.Request) (*http.Response, error) { return nil, down }))
	_, err := s.Get(t.Context(), "k")
	is(t, err, rl.Unavailable)
	// A checkpoint is not given up because the store cannot be reached.
	got, err := s.Restore(t.Context(), "a", &rl.Ref{Key: store.CheckpointKey("a", 1), SHA256: strings.Repeat("0", 64)})
	is(t, err, rl.Unavailable)
	if len(got.Skipped) > 0 {
		t.Errorf("skipped %v", got.Skipped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = inProcess(t).Get(ctx, "k")
	if is(t, err, rl.Unavailable); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A write whose answer is lost is sent again and meets itself. It is no conflict, for a new object or a pointer.
func TestLostAnswer(t *testing.T) {
	h := server(t, t.TempDir())
	lost := map[string]bool{}
	s := through(t, transport(func(r *http.Request) (*http.Response, error) {
		answer, err := inprocess.Transport{Handler: h}.RoundTrip(r)
		if r.Method == http.MethodPut && !lost[r.URL.Path] {
			lost[r.URL.Path] = true
			return nil, io.ErrUnexpectedEOF
		}
		return answer, err
	}))
	must[rl.Ref](t)(s.PutNew(t.Context(), "k", []byte("one")))
	refs := publish(t, s, "a", 1)
	if got := must[rl.Ref](t)(s.Pointer(t.Context(), "a", store.Latest)); got != refs[0] || len(lost) < 4 {
		t.Errorf("latest is %v; %d answers were lost", got, len(lost))
	}
}

// AWS answers 409 to conditional writes that meet; they are sent again.
func TestConflictingWrites(t *testing.T) {
	h := server(t, t.TempDir())
	refused := 0
	s := through(t, transport(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut && refused < 2 {
			refused++
			body := `<Error><Code>ConditionalRequestConflict</Code><Message>try again</Message></Error>`
			return answer(r, http.StatusConflict, http.Header{}, io.NopCloser(strings.NewReader(body))), nil
		}
		return inprocess.Transport{Handler: h}.RoundTrip(r)
	}))
	must[rl.Ref](t)(s.PutNew(t.Context(), "k", []byte("one")))
}

// A body that breaks off in the middle is asked for again.
func TestBrokenBody(t *testing.T) {
	h := server(t, t.TempDir())
	body := bytes.Repeat([]byte("x"), 100<<10)
	var gets atomic.Int32
	s := through(t, transport(func(r *http.Request) (*http.Response, error) {
		answer, err := inprocess.Transport{Handler: h}.RoundTrip(r)
		if err == nil && r.Method == http.MethodGet && gets.Add(1) < 3 {
			answer.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(answer.Body, 1000), broken{}), answer.Body}
		}
		return answer, err
	}))
	must[rl.Ref](t)(s.PutNew(t.Context(), "k", body))
	if got := must[[]byte](t)(s.Get(t.Context(), "k")); !bytes.Equal(got, body) || gets.Load() != 3 {
		t.Errorf("%d bytes after %d requests", len(got), gets.Load())
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Bytes that rot on the disk are noticed by whoever reads them. A first write then replaces the damaged record, a
// stored file the damaged chunk; no second writer finds a record that nobody can read.
func TestRot(t *testing.T) {
	for name, harm := range map[string]func(blob string) error{
		"a flipped byte": func(blob string) error {
			b, err := os.ReadFile(blob)
			if err == nil {
				b[len(b)/2] ^= 1
				err = os.WriteFile(blob, b, 0o600)
			}
			return err
		},
		"a cut file":  func(blob string) error { return os.Truncate(blob, 1000) },
		"a lost file": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := near(t, server(t, dir))
			body := bytes.Repeat([]byte("x"), 100<<10)
			want := rl.Corrupt
			if name == "a lost file" {
				want = rl.NotFound
			}
			rot := func() {
				blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*"))
				if err != nil || len(blobs) != 1 {
					t.Fatal(blobs, err)
				}
				if err := harm(blobs[0]); err != nil {
					t.Fatal(err)
				}
			}
			must[rl.Ref](t)(s.PutNew(t.Context(), "k", body))
			rot()
			_, err := s.Get(t.Context(), "k")
			is(t, err, want)
			ref, recorded, err := s.PutFirst(t.Context(), "k", body[1:])
			is(t, err, "")
			if ref.Size != int64(len(body)-1) || len(recorded) != len(body)-1 {
				t.Errorf("recorded is %v", ref)
			}
			must[[]byte](t)(s.GetRef(t.Context(), ref))
			is(t, s.Delete(t.Context(), "k"), "")
			f := must[rl.File](t)(s.PutFile(t.Context(), "f", body))
			rot()
			_, err = s.ReadFile(t.Context(), f)
			is(t, err, want)
			must[rl.File](t)(s.PutFile(t.Context(), "f", body))
			must[[]byte](t)(s.ReadFile(t.Context(), f))
		})
	}
}

// A server that ignores conditions is refused: here gofakes3 over its own memory, behind a front that drops the
// headers, as rclone serve s3 does.
func TestCheckRefuses(t *testing.T) {
	for _, header := range []string{"If-None-Match", "If-Match"} {
		memory := s3mem.New()
		if err := memory.CreateBucket(t.Context(), "bucket"); err != nil {
			t.Fatal(err)
		}
		front := gofakes3.New(memory).Server() // without keys it checks no signature
		s := near(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				r.Header.Del(header)
				r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
			}
			front.ServeHTTP(w, r)
		}))
		err := s.Check(t.Context())
		if is(t, err, rl.Refused); !strings.Contains(err.Error(), "ignores "+header) {
			t.Error(err)
		}
		for o := range s.List(t.Context(), "") {
			t.Errorf("%s was left behind", o.Key)
		}
	}
	empty := gofakes3.New(s3mem.New()).Server()
	err := near(t, empty).Check(t.Context())
	if is(t, err, rl.NotFound); !strings.Contains(err.Error(), `no bucket "bucket"`) {
		t.Error(err)
	}
	wrong := must[*store.Store](t)(store.Open(t.Context(), "s3://bucket", store.Options{Endpoint: "http://embedded.local", AccessKey: accessKey, SecretKey: "wrong-secret", Transport: inprocess.Transport{Handler: server(t, t.TempDir())}}))
	err = wrong.Check(t.Context())
	if is(t, err, rl.Refused); strings.Contains(err.Error(), "wrong-secret") {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	for _, uri := range []string{"", "bucket", "s3://", "s3:///prefix", "http://bucket"} {
		_, err := store.Open(t.Context(), uri, store.Options{})
		is(t, err, rl.Invalid)
	}
	environment(t, "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, err := store.Open(t.Context(), "s3://bucket", store.Options{})
	is(t, err, rl.Unavailable) // a service that gives credentials may answer later
	environment(t, "")
	t.Setenv("AWS_REGION", "")
	_, err = store.Open(t.Context(), "s3://bucket", store.Options{})
	is(t, err, rl.Invalid)
	for uri, want := range map[string]string{"s3://b": "s3://b", "s3://b/": "s3://b", "s3://b/x/y/": "s3://b/x/y"} {
		if got := must[*store.Store](t)(store.Open(t.Context(), uri, store.Options{Endpoint: "http://x"})).String(); got != want {
			t.Errorf("%s is %s", uri, got)
		}
	}
}
