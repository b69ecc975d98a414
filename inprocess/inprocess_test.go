package inprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers are handlers whose answer must be the same over a socket and in process.
var answers = map[string]http.HandlerFunc{
	"plain": func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.URL.RequestURI(), " ", r.Host != "")
	},
	"empty":  func(http.ResponseWriter, *http.Request) {},
	"status": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-A", "b"); w.WriteHeader(412) },
	"second": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(201)
		w.WriteHeader(500)
		w.Write([]byte("x"))
	},
	"nobody": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) },
	"early":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); io.WriteString(w, "late") },
	"sized": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "4")
		io.WriteString(w, "four")
	},
	"lateset": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x"); w.Header().Set("X-Late", "1") },
	"large":   func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Repeat([]byte("0123456789"), 300_000)) },
	"flushed": func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		io.WriteString(w, "b")
	},
	"echo": func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprint(w, r.Method, r.ContentLength, string(b), err)
	},
	"aborted": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"truncated": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "9")
		io.WriteString(w, "four")
	},
	"broken": func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
}

func TestSameAsSocket(t *testing.T) {
	for name, h := range answers {
		srv := httptest.NewUnstartedServer(h)
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Start()
		defer srv.Close()
		for _, method := range []string{"GET", "HEAD", "POST"} {
			ask := func(rt http.RoundTripper) string {
				r, _ := http.NewRequest(method, srv.URL+"/a%2Fb?c=d", strings.NewReader("question"))
				res, err := (&http.Client{Transport: rt}).Do(r)
				if err != nil {
					return "not whole"
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil { // how much of it arrives is the socket's luck: a reset may take the status along
					return "not whole"
				}
				return fmt.Sprint(res.Status, res.Header.Get("X-A"), res.Header.Get("X-Late"), " ", len(b), string(b[:min(len(b), 80)]))
			}
			want, got := ask(http.DefaultTransport), ask(Transport{h})
			if got != want {
				t.Errorf("%s %s: %s, over a socket %s", method, name, got, want)
			}
		}
	}
}

func TestCancelEndsBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is not over before the handler has begun
		handlerEnded := make(chan error, 1)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			handlerEnded <- r.Context().Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://in.process/", nil)
		_, err := (&http.Client{Transport: Transport{h}}).Do(r)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := <-handlerEnded; err == nil {
			t.Fatal("the handler's context did not end")
		}
	})
}

// A handler that returns because its client's context ended has answered nothing, however fast it was.
func TestCancelIsNeverAnAnswer(t *testing.T) {
	for i := range 500 {
		flush := i%2 == 0
		ctx, cancel := context.WithCancel(t.Context())
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if flush {
				io.WriteString(w, "half")
				w.(http.Flusher).Flush()
			}
			cancel()
			<-r.Context().Done()
		})
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://in.process/", nil)
		res, err := Transport{h}.RoundTrip(r)
		if err == nil {
			_, err = io.ReadAll(res.Body)
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(i, err)
		}
	}
}

// A handler that ignores its context does not hold the caller.
func TestCancelDoesNotWaitForHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is not over before the handler has begun
		release := make(chan struct{})
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://in.process/", nil)
		_, err := Transport{http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })}.RoundTrip(r)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

func TestClosedBodyStopsWriter(t *testing.T) {
	stopped := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				stopped <- err
				return
			}
		}
	})
	res, err := Transport{h}.RoundTrip(httptest.NewRequest("GET", "http://in.process/", nil).WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, res.Body, 10<<20); n != 10<<20 || err != nil {
		t.Fatal(n, err)
	}
	res.Body.Close()
	if err := <-stopped; err == nil {
		t.Fatal("the writer was not told")
	}
	if _, err := res.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Fatalf("a closed body reads as %v, which looks like a whole answer", err)
	}
}

// A finished answer belongs to the client, even when its context ends before it has read it.
func TestFinishedAnswerOutlivesContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://in.process/", nil)
	res, err := Transport{answers["plain"]}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if b, err := io.ReadAll(res.Body); string(b) != "hello / true" || err != nil {
		t.Fatalf("%q %v", b, err)
	}
}

func TestPanicIsAnError(t *testing.T) {
	r, _ := http.NewRequest("GET", "http://in.process/", nil)
	_, err := Transport{http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })}.RoundTrip(r)
	if !errors.Is(err, ErrPanic) {
		t.Fatal(err)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	tr := Transport{answers["plain"]}
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequest("POST", "http://in.process/", strings.NewReader("question"))
		res, err := tr.RoundTrip(r)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}
