package mcp

import (
	"context"

	"github.com/longhaul-rl/longhaul/child"
)

// admits reports whether the memory limit leaves room for one more server, as large as those there are in the mean, beside those that
// are starting, and then counts it among these. The first always fits.
func (p *pool) admits() bool {
	live := p.processes()
	limit, n, each := p.of.memory, int64(len(live)), int64(0)
	if n > 0 {
		each = child.Memory(live) / n
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := n + int64(p.starting)
	fits := limit == 0 || all == 0 || n > 0 && each*(all+1) <= limit
	if fits {
		p.starting++
	}
	return fits
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

// begin starts a server, which counts among those that are starting. The caller has a place in start.
func (p *pool) begin(ctx context.Context) (*server, error) {
	s, err := p.of.start(ctx)
	if err == nil {
		if err = p.of.same(ctx, s); err != nil {
			s.close()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if err != nil {
		return nil, err
	}
	s.episodes++
	p.live = append(p.live, s)
	return s, nil
}
