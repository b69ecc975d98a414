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
	idle       = 5 * time.Minute  // a program that nobody uses is stopped after this
	closeLimit = 30 * time.Second // a program that takes longer to close an episode is ended
)

// pool is the programs of a world: at most so many, each with at most so many episodes.
type pool struct {
	start   func() (*program, error) // says hello, too
	closing time.Duration            // closeLimit

	places chan struct{} // holds a token for each episode

	mu       sync.Mutex
	slots    []*slot
	episodes int64 // begun, which names them
}

// slot is where one program runs, or the next one when that has ended. Its fields are under the pool's mu.
type slot struct {
	program *program // may be gone; nil: none yet
	next    *coming  // nil: none is being started
	live    int      // episodes
	visits  int      // questions that are no episode's
	still   *time.Timer
}

// coming is a program that is being started. Whoever needs it waits for it, and whoever gives up leaves it to the others.
type coming struct {
	done    chan struct{}
	program *program
	err     error
}

// newPool has the first program, which is stopped again when nobody comes.
func newPool(processes, each int, first *program, start func() (*program, error)) *pool {
	p := &pool{start: start, closing: closeLimit, places: make(chan struct{}, processes*each)}
	for range processes {
		p.slots = append(p.slots, &slot{})
	}
	p.slots[0].program = first
	p.unused(p.slots[0])
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
	at, err := p.enter(ctx, 1, 0)
	if err != nil {
		<-p.places
	}
	return at, err
}

// visit is a place for a question that is no episode's, which waits for no episode to end.
func (p *pool) visit(ctx context.Context) (*place, error) { return p.enter(ctx, 0, 1) }

func (p *pool) enter(ctx context.Context, live, visits int) (*place, error) {
	s, episode := p.least(live, visits)
	c, err := p.running(ctx, s)
	if err != nil {
		p.add(s, -live, -visits)
		return nil, err
	}
	return &place{program: c, slot: s, episode: episode}, nil
}

// least adds to the program that has the fewest episodes. Who has taken a place finds one with room.
func (p *pool) least(live, visits int) (least *slot, episode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if least == nil || s.live < least.live {
			least = s
		}
	}
	least.live, least.visits = least.live+live, least.visits+visits
	p.episodes++
	return least, fmt.Sprint(p.episodes)
}

// add counts what comes to a program, or leaves it.
func (p *pool) add(s *slot, live, visits int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.live, s.visits = s.live+live, s.visits+visits
	p.unused(s)
}

// running is the program of a slot, started where it does not run: in its own time, whatever is left of the caller's.
func (p *pool) running(ctx context.Context, s *slot) (*program, error) {
	c, next := p.current(s)
	if c != nil {
		return c, nil
	}
	select {
	case <-next.done:
		return next.program, next.err
	case <-ctx.Done():
		return nil, rl.Errorf(rl.Unavailable, at, "the program is being started: %w", context.Cause(ctx))
	}
}

// current is the program of a slot, or the one that is on its way.
func (p *pool) current(s *slot) (*program, *coming) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.program != nil {
		select {
		case <-s.program.dying:
			s.program = nil
		default:
			return s.program, nil
		}
	}
	if s.next == nil {
		s.next = &coming{done: make(chan struct{})}
		go p.begin(s, s.next)
	}
	return nil, s.next
}

func (p *pool) begin(s *slot, next *coming) {
	next.program, next.err = p.start()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.program, s.next = next.program, nil
	p.unused(s)
	close(next.done)
}

// unused has the program of a slot stopped after a while, if nobody uses it then.
func (p *pool) unused(s *slot) {
	if s.still != nil {
		s.still.Stop()
	}
	s.still = time.AfterFunc(idle, func() { p.rest(s) })
}

// rest stops the program of a slot that nobody uses.
func (p *pool) rest(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := s.program; s.live+s.visits == 0 && c != nil {
		s.program = nil
		go c.stop()
	}
}

// leave closes an episode, which nobody waits for, and gives its place back. A program that does not come to it is ended. One that
// was at something else, which its episode did not wait for, has the time to do that first: others are in it.
func (p *pool) leave(at *place) {
	go func() {
		defer func() {
			p.add(at.slot, -1, 0)
			<-p.places
		}()
		ctx, cancel := context.WithTimeout(context.Background(), p.closing)
		defer cancel()
		if err := at.ask(ctx, request{Do: "close", Episode: at.episode}, &head{}); errors.Is(err, ErrOverdue) {
			at.kill(errors.New("it was ended, since it did not close an episode in time" + at.said.last()))
		}
	}()
}
