package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

const (
	idle       = 5 * time.Minute  // a program without episodes is stopped after this
	closeLimit = 30 * time.Second // a program that takes longer to close an episode is ended
)

// pool is the programs of a world: at most so many, each with at most so many episodes.
type pool struct {
	start func(ctx context.Context) (*program, error) // says hello, too

	places chan struct{} // holds a token for each episode
	each   int           // episodes of a program

	mu       sync.Mutex
	slots    []*slot
	episodes int64 // begun, which names them
}

// slot is where one program runs, or the next one when that has ended.
type slot struct {
	busy chan struct{} // holds a token while its program is being started

	// Under the pool's mu.
	program *program // may be gone; nil: none yet
	live    int      // episodes
	still   *time.Timer
}

func newPool(processes, each int, start func(context.Context) (*program, error)) *pool {
	p := &pool{start: start, places: make(chan struct{}, processes*each), each: each}
	for range processes {
		p.slots = append(p.slots, &slot{busy: make(chan struct{}, 1)})
	}
	return p
}

// place is an episode's place in a program.
type place struct {
	*program
	slot    *slot
	episode string
}

// take waits for a place, and for its program to start where none runs. Errors are Unavailable.
func (p *pool) take(ctx context.Context) (*place, error) {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, rl.Errorf(rl.Unavailable, at, "all %d places (env.process.processes x episodes) are taken: %w", cap(p.places), context.Cause(ctx))
	}
	at, err := p.visit(ctx)
	if err != nil {
		<-p.places
	}
	return at, err
}

// visit is a place for a question that is no episode's, which waits for no episode to end.
func (p *pool) visit(ctx context.Context) (*place, error) {
	s, episode := p.least()
	c, err := p.running(ctx, s)
	if err != nil {
		p.unload(s)
		return nil, err
	}
	return &place{program: c, slot: s, episode: episode}, nil
}

// least adds an episode to the program that has the fewest. Who has taken a place finds one with room.
func (p *pool) least() (least *slot, episode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if least == nil || s.live < least.live {
			least = s
		}
	}
	least.live++
	if least.still != nil {
		least.still.Stop()
	}
	p.episodes++
	return least, fmt.Sprint(p.episodes)
}

// running is the program of a slot, started where it does not run.
func (p *pool) running(ctx context.Context, s *slot) (*program, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, rl.Errorf(rl.Unavailable, at, "the program is being started: %w", context.Cause(ctx))
	}
	if c := p.current(s); c != nil {
		return c, nil
	}
	c, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.program = c
	return c, nil
}

// current is the program of a slot, nil when it has ended.
func (p *pool) current(s *slot) *program {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.program != nil {
		select {
		case <-s.program.dying:
			s.program = nil
		default:
		}
	}
	return s.program
}

// unload takes an episode off a program.
func (p *pool) unload(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.live--; s.live == 0 {
		s.still = time.AfterFunc(idle, func() { p.rest(s) })
	}
}

// free gives a place back.
func (p *pool) free(s *slot) {
	p.unload(s)
	<-p.places
}

// rest stops the program of a slot without episodes.
func (p *pool) rest(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := s.program; s.live == 0 && c != nil {
		s.program = nil
		go c.stop()
	}
}

// leave closes an episode, which nobody waits for, and gives its place back. A program that is late with an answer, or with
// this one, is ended: nobody knows what it is at.
func (p *pool) leave(at *place, late bool) {
	if late {
		at.kill(errors.New("it was ended, since it did not reply in time" + at.said.last()))
		p.free(at.slot)
		return
	}
	go func() {
		defer p.free(at.slot)
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		if err := at.ask(ctx, request{Do: "close", Episode: at.episode}, &head{}); errors.Is(err, ErrOverdue) {
			at.kill(errors.New("it was ended, since it did not close an episode in time"))
		}
	}()
}
