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
	of    *Servers
	room  chan struct{} // one element an episode with a server of its own; nil: all share one
	start chan struct{} // one element a server that is starting

	mu       sync.Mutex
	live     []*server
	idle     []*server // of the live ones, the last used last
	starting int       // servers that are to be live
	closed   bool      // a server that comes back is ended
}

// unused is how long a server is kept that no episode uses.
const unused = time.Minute

func newPool(s *Servers) *pool {
	p := &pool{of: s, start: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if s.config.Share == "episode" {
		p.room = make(chan struct{}, s.config.Servers)
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
			if p.admits() {
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

// used is an idle server, or nil. One whose process has ended meanwhile is nobody's.
func (p *pool) used() *server {
	for {
		p.mu.Lock()
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			return nil
		}
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		s.episodes++
		p.mu.Unlock()
		if s.lives() {
			return s
		}
		p.end(s)
	}
}

// give takes a server back. One that may serve no further episode is ended.
func (p *pool) give(s *server) {
	p.mu.Lock()
	episodes, closed := s.episodes, p.closed
	p.mu.Unlock()
	if p.room == nil {
		p.leave(s)
		return
	}
	defer func() { <-p.room }()
	over := closed || s.spoilt.Load() || episodes >= p.of.config.Reuse
	if limit := p.of.memory; !over && limit > 0 {
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

// close ends the servers that no episode has. One that an episode has ends with that.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var unused []*server
	for _, s := range p.live {
		if p.room == nil && s.episodes == 0 || slices.Contains(p.idle, s) {
			unused = append(unused, s)
		}
	}
	p.idle = nil
	p.mu.Unlock()
	for _, s := range unused {
		p.end(s)
	}
}

func (p *pool) end(s *server) {
	s.close()
	p.mu.Lock()
	p.live = slices.DeleteFunc(p.live, func(other *server) bool { return other == s })
	p.mu.Unlock()
}
