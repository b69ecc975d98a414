package policy_test

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// host listens where a handler can die and come back.
type host struct {
	t       *testing.T
	handler http.Handler
	address string
	open    net.Listener
	server  *http.Server
	chats   atomic.Int64
	hangs   atomic.Bool
}

func newHost(t *testing.T, h http.Handler) *host {
	s := &host{t: t, address: "127.0.0.1:0"}
	plan := faults.Of(faults.On("", "", faults.While(s.hangs.Load), faults.Hang))
	s.handler = plan.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			s.chats.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	s.start()
	t.Cleanup(s.die)
	return s
}

func (s *host) start() {
	var err error
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if s.open, err = net.Listen("tcp", s.address); err == nil {
			break
		} else if time.Since(began) > time.Minute { // until then somebody may have the port who asked for any
			s.t.Fatal(err)
		}
	}
	s.address, s.server = s.open.Addr().String(), &http.Server{Handler: s.handler}
	go s.server.Serve(s.open)
}

// die refuses connections from now on, also where the server has not come to listening yet.
func (s *host) die() {
	s.server.Close()
	s.open.Close()
}

func (s *host) url() string { return "http://" + s.address + "/v1" }

func urls(hosts []*host) string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.url())
	}
	return strings.Join(all, ", ")
}

// episode has a conversation in a seat of its own. between is called before each turn.
func episode(ctx context.Context, c *policy.Client, n, turns int, between func(turn int)) (all []policy.Response, err error) {
	seat, err := c.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer seat.Release()
	return converse(n, turns, func(turn int, q policy.Request) (policy.Response, error) {
		between(turn)
		q.Timeout, q.Training = 10*time.Second, true // what hangs takes as long, what only lags does not
		return seat.Act(ctx, q)
	})
}

// An episode's turns are one server's, and live episodes are spread evenly.
func TestEpisodesKeepToTheirServer(t *testing.T) {
	s := desk(t, small, 2)
	hosts := []*host{newHost(t, s), newHost(t, s), newHost(t, s)}
	c := policy.New(policy.Options{URL: urls(hosts), Splice: true})
	for n := range 6 {
		seat, err := c.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer seat.Release()
		if _, err := converse(n, 4, func(_ int, q policy.Request) (policy.Response, error) { return seat.Act(t.Context(), q) }); err != nil {
			t.Fatal(err)
		}
		for i, h := range hosts {
			if got, want := h.chats.Load(), int64(4*((n+3-i)/3)); got != want {
				t.Errorf("after episode %d server %d has answered %d times, want %d", n, i, got, want)
			}
		}
	}
	for _, s := range c.Status() {
		if s.State != "healthy" || s.Episodes != 2 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// Three servers, of which one hangs, one dies and comes back: no episode is lost, none is another than it would have been,
// and both are readmitted.
func TestSickServers(t *testing.T) {
	s := desk(t, small, 2)
	hosts := []*host{newHost(t, s), newHost(t, s), newHost(t, s)}
	c := policy.New(policy.Options{URL: urls(hosts), Splice: true})
	const episodes, turns = 12, 5
	var want [episodes][]policy.Response
	for n := range want {
		var err error
		if want[n], err = play(t.Context(), policy.New(policy.Options{URL: hosts[0].url(), Splice: true}), n, turns); err != nil {
			t.Fatal(err)
		}
	}
	var all, third sync.WaitGroup
	third.Add(episodes)
	for n := range want {
		all.Go(func() {
			got, err := episode(t.Context(), c, n, turns, func(turn int) {
				if turn == 2 { // everybody has two turns: now it happens
					third.Done()
					third.Wait()
					hosts[0].hangs.Store(true)
					hosts[1].die()
				}
			})
			if err != nil || !reflect.DeepEqual(got, want[n]) {
				t.Errorf("episode %d: %v\n%+v\nwant %+v", n, err, got, want[n])
			}
		})
	}
	all.Wait()
	states := func() (all []string) {
		for _, s := range c.Status() {
			all = append(all, s.State)
		}
		return all
	}
	if got := states(); !reflect.DeepEqual(got, []string{"ejected", "ejected", "healthy"}) {
		t.Fatal(got)
	}
	hosts[0].hangs.Store(false)
	hosts[1].start()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := play(t.Context(), c, 1, 1); err != nil {
			t.Fatal(err)
		}
		if got := states(); reflect.DeepEqual(got, []string{"healthy", "healthy", "healthy"}) {
			break
		} else if time.Since(began) > 2*time.Minute {
			t.Fatal(got)
		}
	}
	before := hosts[1].chats.Load()
	for n := range 3 {
		seat, _ := c.Acquire(t.Context())
		defer seat.Release()
		if _, err := converse(n, 1, func(_ int, q policy.Request) (policy.Response, error) { return seat.Act(t.Context(), q) }); err != nil {
			t.Fatal(err)
		}
	}
	if hosts[1].chats.Load() != before+1 {
		t.Error("the server that came back gets no episodes")
	}
}

// With nobody left, an episode fails for now, and goes on as soon as one is back.
func TestAllServersAway(t *testing.T) {
	s := desk(t, small, 2)
	hosts := []*host{newHost(t, s), newHost(t, s)}
	c := policy.New(policy.Options{URL: urls(hosts), Splice: true})
	for _, h := range hosts {
		h.die()
	}
	for range 3 {
		if _, err := play(t.Context(), c, 1, 1); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Fatal(err)
		}
	}
	hosts[1].start()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := play(t.Context(), c, 1, 1); err == nil {
			break
		} else if time.Since(began) > 2*time.Minute {
			t.Fatal(err)
		}
	}
}

// A server that was away while a version was published is probed, too, and taken in.
func TestAwayAtThePublication(t *testing.T) {
	s := desk(t, small, 2)
	hosts := []*host{newHost(t, s), newHost(t, s)}
	c := policy.New(policy.Options{URL: urls(hosts), Splice: true})
	hosts[1].die()
	for range 3 {
		if err := c.Ready(t.Context(), "run@000001", true); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Status()[1].State; got != "ejected" {
		t.Fatal(got)
	}
	hosts[1].start()
	for began := time.Now(); c.Status()[1].State != "healthy"; time.Sleep(20 * time.Millisecond) {
		if _, err := play(t.Context(), c, 1, 1); err != nil || time.Since(began) > 2*time.Minute {
			t.Fatal(err, c.Status())
		}
	}
}

// Of three servers one has become a page of its proxy, another takes no key: their episodes go on at the third. When all refuse it is
// said, and not while one may be back.
func TestServersThatRefuseEverybody(t *testing.T) {
	var refuse atomic.Int32 // how many do
	s := desk(t, small, 2)
	refusing := func(n int32, answer http.HandlerFunc) *host {
		return newHost(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuse.Load() >= n {
				answer(w, r)
			} else {
				s.ServeHTTP(w, r)
			}
		}))
	}
	says := func(status int, words string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/v1/login")
			http.Error(w, words, status)
		}
	}
	hosts := []*host{refusing(1, says(302, "log in")), refusing(2, says(401, "who?")), refusing(3, says(404, "default backend"))}
	c := policy.New(policy.Options{URL: urls(hosts), Splice: true})
	for n := range 6 {
		_, err := episode(t.Context(), c, n, 4, func(turn int) { refuse.Store(min(2, int32(n+turn)/2)) })
		if err != nil {
			t.Fatalf("episode %d: %v", n, err)
		}
	}
	for i, want := range []string{"ejected", "ejected", "healthy"} {
		if got := c.Status()[i]; got.State != want || (got.Why == "") != (want == "healthy") {
			t.Errorf("server %d is %+v", i, got)
		}
	}
	refuse.Store(3)
	if _, err := episode(t.Context(), c, 7, 1, func(int) {}); rl.KindOf(err) != rl.Refused {
		t.Errorf("all refuse: %v", err)
	}
	d := policy.New(policy.Options{URL: urls(hosts), Splice: true})
	hosts[0].die()
	if _, err := episode(t.Context(), d, 8, 1, func(int) {}); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("one is away: %v", err)
	}
}
