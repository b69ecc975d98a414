package mcp

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/child"
)

// pool hands servers to episodes. With share: episode each has one to itself, and there are at most so many at once; what a server
// takes is time to start (most of it CPU) and memory. With share: worker all have the same.
type pool struct {
	world *world
	room  chan struct{} // one element an episode with a server of its own; nil: all share one
	start chan struct{} // one element a server that is starting

	mu   sync.Mutex
	live []*server
	idle []*server // of the live ones, the last used last
}

// unused is how long a server is kept that no episode uses.
const unused = time.Minute

func newPool(w *world) *pool {
	p := &pool{world: w, start: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if w.config.Share == "episode" {
		p.room = make(chan struct{}, w.config.Servers)
	} else {
		p.start = make(chan struct{}, 1)
	}
	return p
}

// take is a server for an episode, in the state in which they begin; give takes it back. Errors as start's, and the context's.
func (p *pool) take(ctx context.Context) (*server, error) {
	if p.room == nil {
		return p.shared(ctx)
	}
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := p.own(ctx)
	if err != nil {
		<-p.room
	}
	return s, err
}

func (p *pool) own(ctx context.Context) (*server, error) {
	for {
		if s := p.used(); s != nil {
			return s, nil
		}
		select {
		case p.start <- struct{}{}:
			if p.fits() {
				defer func() { <-p.start }()
				return p.begin(ctx)
			}
			<-p.start
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select { // until an episode ends, or memory is given back otherwise
		case <-time.After(memoryPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

const memoryPause = 100 * time.Millisecond

// used is an idle server, or nil.
func (p *pool) used() *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	s := p.idle[n-1]
	p.idle = p.idle[:n-1]
	s.episodes++
	return s
}

// fits reports whether the memory limit leaves room for one more server, as large as those there are in the mean. The first
// always fits.
func (p *pool) fits() bool {
	limit := p.world.memory
	if limit == 0 {
		return true
	}
	live := p.processes()
	n := int64(len(live))
	return n == 0 || child.Memory(live)/n*(n+1) <= limit
}

func (p *pool) processes() (all []*child.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.live {
		if s.process != nil {
			all = append(all, s.process)
		}
	}
	return all
}

// begin starts a server. The caller has a place in start.
func (p *pool) begin(ctx context.Context) (*server, error) {
	s, err := p.world.start(ctx)
	if err == nil {
		if err = p.world.same(ctx, s); err != nil {
			s.close()
		}
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.episodes++
	p.live = append(p.live, s)
	return s, nil
}

// shared is the server of all episodes; a new one when nobody knows what state the last is in.
func (p *pool) shared(ctx context.Context) (*server, error) {
	select {
	case p.start <- struct{}{}: // one looks at a time
		defer func() { <-p.start }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	for _, s := range p.live {
		if !s.spoilt.Load() {
			s.episodes++
			p.mu.Unlock()
			return s, nil
		}
	}
	p.mu.Unlock()
	s, err := p.begin(ctx)
	if err == nil {
		err = s.clean(nil)
	}
	return s, err
}

// give takes a server back. One that may serve no further episode is ended.
func (p *pool) give(s *server) {
	p.mu.Lock()
	episodes := s.episodes
	p.mu.Unlock()
	if p.room == nil {
		p.leave(s)
		return
	}
	defer func() { <-p.room }()
	over := s.spoilt.Load() || episodes >= p.world.config.Reuse
	if limit := p.world.memory; !over && limit > 0 {
		over = child.Memory(p.processes()) > limit
	}
	if over {
		p.end(s)
		return
	}
	p.mu.Lock()
	p.idle = append(p.idle, s)
	p.mu.Unlock()
	time.AfterFunc(unused, func() { p.forget(s, episodes) })
}

// leave takes an episode off the shared server, which ends with the last of them when it is spoilt.
func (p *pool) leave(s *server) {
	p.mu.Lock()
	s.episodes--
	last := s.spoilt.Load() && s.episodes == 0
	p.mu.Unlock()
	if last {
		p.end(s)
	}
}

// forget ends a server that is idle since it had served so many episodes.
func (p *pool) forget(s *server, episodes int) {
	p.mu.Lock()
	i := slices.Index(p.idle, s)
	was := i >= 0 && s.episodes == episodes
	if was {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.mu.Unlock()
	if was {
		p.end(s)
	}
}

func (p *pool) end(s *server) {
	s.close()
	p.mu.Lock()
	p.live = slices.DeleteFunc(p.live, func(other *server) bool { return other == s })
	p.mu.Unlock()
}
