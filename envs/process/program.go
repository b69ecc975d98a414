package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

const at = "environment process"

// ErrOverdue is in the error of a request that was not answered within its time. The program may still be at it.
var ErrOverdue = errors.New("no reply in time")

// errSays is in the error of a request that the program replied to with an error of its own.
var errSays = errors.New("it says")

// program is one that runs. It is asked one thing at a time, by whoever has the turn.
type program struct {
	child *child.Process
	said  *said
	turn  chan struct{} // holds one token while something is being asked
	asked atomic.Int64  // the last id that was sent
	heard chan reply    // of ids that were asked, in order

	kill  func(why error) // ends it; the first reason counts
	why   error           // it ended, without secrets; set before dying
	dying chan struct{}   // closed when its end has begun
	gone  chan struct{}   // closed when nothing is left of it
}

// run listens to the program until it ends, and cleans up after it.
func (c *program) run(stderr io.Reader) {
	var listening sync.WaitGroup
	listening.Go(func() { c.said.listen(stderr) })
	listening.Go(func() {
		if err := c.listen(c.child.Stdout); err != nil {
			c.kill(err)
		}
	})
	<-c.child.Done()
	c.child.Kill()                                            // others of the group may hold its pipes
	c.child.Stdout.SetReadDeadline(time.Now().Add(lastWords)) // and so may what has left it
	listening.Wait()
	c.kill(fmt.Errorf("%w%s", ending(c.child), c.said.last()))
	c.child.Stop(0)
	c.said.log.Info("the environment's program has ended", "why", c.why)
	close(c.gone)
}

// lastWords is how long a program that has ended is listened to: what it wrote is there already.
const lastWords = time.Second

// mistake is an error that every start of the command would come to: there is no such program, or it speaks otherwise than it should.
type mistake string

func (m mistake) Error() string { return string(m) }

// What a shell ends with whose command it cannot run, and cannot find.
const (
	notRun   = 126
	notFound = 127
)

func ending(p *child.Process) error {
	status := p.Status()
	words := fmt.Sprintf("it has ended, with status %d", status)
	switch status {
	case -1:
		return errors.New("it has ended: " + p.Ended())
	case notRun, notFound:
		return mistake(words)
	}
	return errors.New(words)
}

// listen hands on replies until stdout ends. The error is a line that is not of the protocol.
func (c *program) listen(stdout io.Reader) error {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 64<<10), longest)
	for last := int64(0); lines.Scan(); {
		r, ok, err := parse(slices.Clone(lines.Bytes()))
		switch {
		case !ok:
			if len(lines.Bytes()) > 0 {
				c.said.hear("stdout, where only replies belong", lines.Bytes())
			}
			continue
		case err != nil:
			return mistake(fmt.Sprintf("it wrote what is no reply: %s: %v", c.said.quote(lines.Bytes()), err))
		case r.id <= last || r.id > c.asked.Load():
			return mistake(fmt.Sprintf("it replied to %d, which was not asked: %s", r.id, c.said.quote(lines.Bytes())))
		}
		last = r.id
		select {
		case c.heard <- r:
		case <-c.dying:
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return mistake(fmt.Sprintf("it wrote a line of more than %d MiB", longest>>20))
	}
	return nil
}

// ask sends a request and reads its reply. Errors are Unavailable: ErrOverdue when ctx ends first, and the program's own words.
// A reply that cannot be read ends the program.
func (c *program) ask(ctx context.Context, q request, to interface{ whole() error }) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return rl.Errorf(rl.Unavailable, at, "%s waited for others to be answered: %w", q.Do, context.Cause(ctx))
	case <-c.dying:
		return c.ended(q)
	}
	q.ID = c.asked.Load() + 1
	if err := c.send(ctx, q); err != nil {
		return err
	}
	for {
		select {
		case r := <-c.heard:
			if r.id < q.ID { // somebody asked and did not wait
				continue
			}
			if r.err != "" {
				return rl.Errorf(rl.Unavailable, at, "%s: %w: %s", q.Do, errSays, c.said.hide.Replace(r.err))
			}
			if err := r.into(to); err != nil {
				c.kill(mistake(fmt.Sprintf("the reply to %s is not as it should be: %v: %s", q.Do, err, c.said.quote(r.line))))
				return c.ended(q)
			}
			return nil
		case <-ctx.Done():
			return overdue(ctx, q)
		case <-c.dying:
			return c.ended(q)
		}
	}
}

// send writes a request. A program that does not read is waited for until ctx ends; half a request ends the program.
func (c *program) send(ctx context.Context, q request) error {
	line := append(rl.CanonicalJSON(q), '\n')
	c.asked.Store(q.ID)
	c.child.Stdin.SetWriteDeadline(time.Time{})
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.child.Stdin.SetWriteDeadline(time.Now())
		close(late)
	})
	defer func() {
		if !stop() {
			<-late // not in the middle of the next request
		}
	}()
	n, err := c.child.Stdin.Write(line)
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil: // its stdin is closed: it ends, or reads no more
		select {
		case <-c.dying: // which says more
		case <-time.After(stopGrace):
			c.kill(fmt.Errorf("it reads no requests: %w%s", err, c.said.last()))
		}
		return c.ended(q)
	case n > 0:
		c.kill(fmt.Errorf("it stopped reading in the middle of a request"))
	default:
		c.asked.Store(q.ID - 1)
	}
	return overdue(ctx, q)
}

func overdue(ctx context.Context, q request) error {
	return rl.Errorf(rl.Unavailable, at, "%s: %w: %w", q.Do, ErrOverdue, context.Cause(ctx))
}

// ended is the error of a request to a program that is no more.
func (c *program) ended(q request) error {
	return rl.Errorf(rl.Unavailable, at, "%s: %w", q.Do, c.why)
}

// stop lets the program end by itself, as its stdin ends, and then ends it.
func (c *program) stop() {
	c.child.Stdin.Close()
	select {
	case <-c.gone:
	case <-time.After(stopGrace):
		c.kill(errors.New("it was stopped"))
		<-c.gone
	}
}

// stopGrace is how long a program may take to end when its stdin has.
const stopGrace = 3 * time.Second
