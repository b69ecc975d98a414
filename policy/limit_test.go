package policy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"pgregory.net/rapid"
)

// A server that takes four requests at once and refuses more: all are answered, and the limit finds out.
func TestLimitFindsWhatAServerTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 4
		var at, refused atomic.Int64
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer at.Add(-1)
			if at.Add(1) > takes {
				refused.Add(1)
				says(429, "Retry-After: 1", `{"error":{"message":"slow down"}}`)(w, r)
				return
			}
			time.Sleep(100 * time.Millisecond)
			io.WriteString(w, embeddedReply)
		})
		c := New(Options{URL: "http://a/v1", Transport: inprocess.Transport{Handler: h}, Concurrency: 64})
		q := question("run@000001")
		q.Timeout = time.Second // the wait for a place is not counted
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for range 10 {
					if _, err := c.Act(t.Context(), q); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if s := c.Status()[0]; s.Limit < 2 || s.Limit > 2*takes || s.State != "healthy" {
			t.Errorf("%+v", s)
		}
		t.Logf("640 requests, %d refused", refused.Load())
	})
}

// A wait that a server asks for, and that is too long for a turn, is the caller's to plan.
func TestLongWaitsAreTheCallers(t *testing.T) {
	c, _ := canned(t, Options{}, says(429, "Retry-After: 3600", `{"error":{"message":"tomorrow"}}`))
	_, err := c.Act(t.Context(), question("m"))
	if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "tomorrow") {
		t.Error(err)
	}
}

// Requests that wait at a server lower the limit, by a fifth at a time.
func TestLimitFallsWhereRequestsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began = time.Now()
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(10 * time.Second)
			io.WriteString(w, embeddedReply)
		})
		mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			n := time.Since(began).Seconds()
			io.WriteString(w, strings.NewReplacer("SUM", number(30*n), "COUNT", number(10*n)).Replace("# TYPE vllm:request_queue_time_seconds histogram\n"+
				"vllm:request_queue_time_seconds_count{engine=\"0\",model_name=\"a b\"} COUNT\nvllm:request_queue_time_seconds_sum{engine=\"0\",model_name=\"a b\"} SUM\n"))
		})
		c := New(Options{URL: "http://a/v1", Transport: inprocess.Transport{Handler: mux}, Concurrency: 10})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := c.Act(t.Context(), question("run@000001")); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(4500 * time.Millisecond)
		if got := c.Status()[0].Limit; got != 6 { // 10 x .8 x .8
			t.Error(got)
		}
		all.Wait()
		time.Sleep(time.Minute)
	})
}

func number(v float64) string { return strings.TrimSpace(string(rl.CanonicalJSON(v))) }

// Whatever happens: never more in flight than the limit, which stays between 1 and the most, and nobody is forgotten.
func TestLimitHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 20).Draw(t, "most")
		l := limit{most: most, now: float64(most)}
		flying := 0
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				if !l.room() {
					t.Skip("it would wait")
				}
				if err := l.enter(t.Context()); err != nil {
					t.Fatal(err)
				}
				flying++
			},
			"leave": func(t *rapid.T) {
				if flying == 0 {
					t.Skip("nobody is in")
				}
				l.leave(time.Now(), rapid.SampledFrom([]error{nil, endpoint.ErrBusy, endpoint.ErrNoReply}).Draw(t, "how"))
				flying--
			},
			"queued": func(*rapid.T) { l.queued(time.Now()) },
			"": func(t *rapid.T) {
				if l.now < 1 || l.now > float64(most) || l.flying != flying || len(l.queue) != 0 {
					t.Fatalf("%+v, %d in flight", &l, flying)
				}
			},
		})
	})
}

// Who waits is let in, in order; who gives up is not missed.
func TestLimitQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit{most: 1, now: 1}
		if err := l.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 3 {
			ctx, cancel := Within(t.Context(), time.Duration(map[int]int{1: 1}[i])*time.Second)
			defer cancel()
			go func() {
				if l.enter(ctx) == nil {
					order = append(order, i)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(2 * time.Second) // the second gives up
		l.leave(time.Now(), nil)
		synctest.Wait()
		l.leave(time.Now(), nil)
		synctest.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != 2 || l.flying != 1 {
			t.Errorf("%v, %+v", order, &l)
		}
	})
}

// Who is called off before it asks takes no place, however many they are: the next one still gets in.
func TestLimitKeepsNoPlaceForWhoIsGone(t *testing.T) {
	l := limit{most: 2, now: 2}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		if err := l.enter(gone); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if flying, waiting, _ := l.load(); flying != 0 || waiting != 0 {
		t.Errorf("%d in flight, %d wait", flying, waiting)
	}
}
