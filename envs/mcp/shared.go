package mcp

import (
	"context"
	"slices"
)

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
		if !s.spoilt.Load() && s.lives() {
			s.episodes++
			p.mu.Unlock()
			return s, nil
		}
	}
	over := slices.DeleteFunc(slices.Clone(p.live), func(s *server) bool { return s.episodes > 0 })
	p.starting++
	p.mu.Unlock()
	for _, s := range over { // it ended while nobody used it
		p.end(s)
	}
	s, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.clean(nil); err != nil {
		p.leave(s)
		return nil, err
	}
	return s, nil
}

// leave takes an episode off the shared server, which ends with the last of them when it is spoilt.
func (p *pool) leave(s *server) {
	p.mu.Lock()
	s.episodes--
	last := s.episodes == 0 && (p.closed || s.spoilt.Load() || !s.lives())
	p.mu.Unlock()
	if last {
		p.end(s)
	}
}
