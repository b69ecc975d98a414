package store_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Check meets its own writes, too.
func TestCheckAfterLostAnswers(t *testing.T) {
	h := server(t, t.TempDir())
	puts := 0
	s := through(t, transport(func(r *http.Request) (*http.Response, error) {
		answer, err := inprocess.Transport{Handler: h}.RoundTrip(r)
		if r.Method == http.MethodPut {
			if puts++; answer.StatusCode == http.StatusOK {
				return nil, io.ErrUnexpectedEOF
			}
		}
		return answer, err
	}))
	if is(t, s.Check(t.Context()), ""); puts != 6 {
		t.Errorf("%d writes, want each of the two that are allowed twice", puts)
	}
}

// An endpoint that takes a request and says no more is given up, sooner for a small object.
func TestHangingEndpoint(t *testing.T) {
	for name, body := range map[string]io.Reader{"no answer": nil, "no body": strings.NewReader("the start")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := through(t, transport(func(r *http.Request) (*http.Response, error) {
					if body == nil || r.Method == http.MethodPut {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					hang := readFunc(func([]byte) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() })
					return answer(r, http.StatusOK, http.Header{"Etag": {`"e"`}}, io.NopCloser(io.MultiReader(body, hang))), nil
				}))
				began := time.Now()
				_, err := s.Put(t.Context(), "k", make([]byte, 10<<20))
				is(t, err, rl.Unavailable)
				if took := time.Since(began); took != 3*70*time.Second {
					t.Errorf("a write took %v", took)
				}
				_, err = s.Get(t.Context(), "k")
				if is(t, err, rl.Unavailable); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// On an endpoint that keeps no checksums, a damaged record shows when it is read. It is replaced all the same, but
// JSON of another form is somebody else's.
func TestUnreadableRecords(t *testing.T) {
	s := inProcess(t)
	episode := &rl.Trajectory{Schema: rl.TrajectorySchema, Episode: rl.EpisodeID{Run: "a", Update: 1, Task: "t"}, Stop: rl.Answered}
	for _, damaged := range []string{"", "not zstd", "\x00"} {
		must[rl.Ref](t)(s.Put(t.Context(), "trajectory", []byte(damaged)))
		must[*rl.Trajectory](t)(s.PutTrajectory(t.Context(), "trajectory", episode))
		if got := must[*rl.Trajectory](t)(s.Trajectory(t.Context(), "trajectory")); got.Episode != episode.Episode {
			t.Errorf("recorded is %v", got)
		}
		must[rl.Ref](t)(s.Put(t.Context(), "record", []byte(damaged)))
		_, got, err := store.PutJSON(t.Context(), s, "record", []int{1})
		if is(t, err, ""); len(got) != 1 {
			t.Errorf("recorded is %v", got)
		}
	}
	must[rl.Ref](t)(s.Put(t.Context(), "record", []byte(`{"of":"another version"}`)))
	_, _, err := store.PutJSON(t.Context(), s, "record", []int{1})
	is(t, err, rl.Corrupt)
}
