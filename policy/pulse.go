package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server is asked how it fares while a request takes longer than this, or than half of what it may take; every so
// often; it has so long to say it.
const (
	slowAfter  = 2 * time.Second
	pulseEvery = time.Second
	pulseTime  = 5 * time.Second
)

// queueLimit is how long requests may wait at a server, on average, before fewer are sent.
const queueLimit = time.Second

// pulse asks a server, while it has slow requests, whether it is paused, which stops their clocks, and how long requests
// wait there. Who paused it does not matter: another process may have. Servers that do not say (it takes vLLM's
// VLLM_SERVER_DEV_MODE=1 to) are not paused.
type pulse struct {
	server *server

	mu      sync.Mutex
	slow    map[*slow]bool
	running bool
	still   bool // it was paused when it last said
	mute    bool // it does not say
	queued  queued
}

// slow is a request that waits.
type slow struct {
	ctx    context.Context
	resume func() // its clocks; nil: they run
}

// begin watches over a request that may take so long (0: for ever), until end.
func (p *pulse) begin(ctx context.Context, may time.Duration) (end func()) {
	r := &slow{ctx: ctx}
	after := slowAfter
	if may > 0 {
		after = min(after, may/2)
	}
	timer := time.AfterFunc(after, func() { p.watch(r) })
	return func() {
		timer.Stop()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.slow, r)
		r.run()
	}
}

func (r *slow) run() {
	if r.resume != nil {
		r.resume()
		r.resume = nil
	}
}

// watch adds a slow request, and looks after all that there are until there are none.
func (p *pulse) watch(r *slow) {
	p.mu.Lock()
	if r.ctx.Err() != nil {
		p.mu.Unlock()
		return
	}
	if p.slow == nil {
		p.slow = map[*slow]bool{}
	}
	p.slow[r] = true
	started := p.running
	p.running = true
	p.mu.Unlock()
	for !started && p.look() {
		time.Sleep(pulseEvery)
	}
}

// look asks once; false: nothing is slow any more.
func (p *pulse) look() bool {
	p.mu.Lock()
	mute := p.mute
	if len(p.slow) == 0 {
		p.running, p.still, p.mute, p.queued = false, false, false, queued{}
		p.mu.Unlock()
		return false
	}
	p.mu.Unlock()
	still := false
	if !mute {
		var knows bool
		still, knows = p.server.isPaused()
		mute = !knows
	}
	p.set(still, mute)
	if !still {
		p.measure()
	}
	return true
}

// set stops the clocks of slow requests, or lets them run.
func (p *pulse) set(still, mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.still, p.mute = still, mute
	for r := range p.slow {
		if !still {
			r.run()
		} else if r.resume == nil {
			r.resume = stop(r.ctx)
		}
	}
}

func (p *pulse) paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.still
}

// isPaused asks the server; knows is false when it does not know such a question. One that does not answer in time is not
// paused: it hangs.
func (s *server) isPaused() (paused, knows bool) {
	ctx, cancel := context.WithTimeout(context.Background(), pulseTime)
	defer cancel()
	body, err := s.get(ctx, "/is_paused")
	if err != nil {
		return false, status(err) == 0
	}
	var answer struct {
		Paused *bool `json:"is_paused"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Paused == nil {
		return false, false
	}
	return *answer.Paused, true
}

// queued is what a server's counters have said of the wait before a request is begun.
type queued struct {
	at      time.Time
	seconds float64
	count   float64
}

// The counters of vLLM and of SGLang.
var queueCounters = [][2]string{
	{"vllm:request_queue_time_seconds_sum", "vllm:request_queue_time_seconds_count"},
	{"sglang:queue_time_seconds_sum", "sglang:queue_time_seconds_count"},
}

// measure lowers the limit when the requests since the last time have waited too long.
func (p *pulse) measure() {
	ctx, cancel := context.WithTimeout(context.Background(), pulseTime)
	defer cancel()
	at := time.Now()
	body, err := p.server.get(ctx, "/metrics")
	if err != nil {
		return
	}
	now := queued{at: at}
	for _, names := range queueCounters {
		now.seconds += counter(body, names[0])
		now.count += counter(body, names[1])
	}
	p.mu.Lock()
	before := p.queued
	p.queued = now
	p.mu.Unlock()
	n := now.count - before.count
	if before.at.IsZero() || n <= 0 || (now.seconds-before.seconds)/n < queueLimit.Seconds() {
		return
	}
	p.server.limit.queued(before.at)
}

// counter sums up a counter of Prometheus' text format over its labels.
func counter(metrics []byte, name string) (sum float64) {
	for line := range bytes.Lines(metrics) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok || len(rest) == 0 || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		fields := strings.Fields(string(rest[bytes.LastIndexByte(rest, '}')+1:]))
		if len(fields) > 0 {
			if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
				sum += v
			}
		}
	}
	return sum
}
