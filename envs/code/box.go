package code

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

//go:embed wrapper.sh
var wrapper string

// startUp is how long a box may take to begin and to end, beside the program's own time.
const startUp = 20 * time.Second

// farewell is how long a box may take to end once all that it has to say was read.
const farewell = 2 * time.Second

// box is a sandbox of processes: bubblewrap's, or a container. Its working directory lives in its own memory and comes and
// goes as an archive, so nothing of the host is written to.
type box struct {
	bounds bounds
	name   string // as errors call it
	// ready says why no box can be made here, as far as that can be told beforehand.
	ready func(ctx context.Context) error
	// command starts wrapper.sh's arguments in a new box. tidy ends what is left of it when its command did not end well.
	command func(args []string) (c *exec.Cmd, tidy func(), err error)
	// watch ends the box when its program takes too much; it returns why, once the box is gone.
	watch  func(c *exec.Cmd, b bounds, gone <-chan struct{}) string
	places chan struct{}
}

func (b *box) python() string { return "Python 3" }
func (b *box) shell() bool    { return true }

// check makes a box, to see that it can be made here; an error says why not.
func (b *box) check(ctx context.Context) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	o, err := b.run(ctx, tree{}, program{language: shell, source: "command -v python3 timeout tar >/dev/null && echo here", most: 100})
	switch {
	case rl.KindOf(err) == rl.Unavailable: // not later either
		return rl.Errorf(rl.Invalid, "env.code.sandbox", "%w", errors.Unwrap(err))
	case err != nil:
		return err
	case o.output != "here\n":
		return rl.Errorf(rl.Invalid, "env.code.sandbox", "%s: python3, timeout or tar is not there: %s", b.name, o.text())
	}
	return nil
}

func (b *box) run(ctx context.Context, t tree, p program) (outcome, error) {
	select {
	case b.places <- struct{}{}:
		defer func() { <-b.places }()
	case <-ctx.Done():
		return outcome{}, queued(ctx, b.places)
	}
	seconds := int(max(1, b.bounds.time/time.Second))
	args := []string{strconv.Itoa(seconds), strconv.FormatInt(b.bounds.disk.bytes/512, 10), strconv.FormatInt(b.bounds.memory>>10, 10),
		strconv.Itoa(b.bounds.processes), strconv.Itoa(p.most), "python3", "-c", p.source}
	if p.language == shell {
		args[5] = "sh"
	}
	limited, cancel := context.WithTimeout(ctx, b.bounds.time+startUp)
	defer cancel()
	c, tidy, err := b.command(args)
	if err != nil {
		return outcome{}, err
	}
	defer func() {
		for _, f := range c.ExtraFiles {
			f.Close() // the box has one of its own
		}
	}()
	c.WaitDelay = farewell
	var archive bytes.Buffer
	if err := t.pack(&archive); err != nil {
		return outcome{}, rl.Errorf(rl.Invalid, at, "the working directory: %w", err)
	}
	said := &capture{most: 2000}
	c.Stdin, c.Stderr = &archive, said
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return outcome{}, rl.Errorf(rl.Refused, at, "%s does not start: %w", b.name, err)
	}
	ended, gone, why := make(chan struct{}), make(chan struct{}), ""
	go func() {
		defer close(ended)
		why = b.watch(c, b.bounds, gone)
	}()
	kill := func() { c.Process.Kill() }
	stop := context.AfterFunc(limited, func() {
		kill()
		tidy() // what is left may have stdout open
		stdout.Close()
	})
	o, ready, broken := read(bufio.NewReader(stdout), p.most, b.bounds.disk)
	if ready { // there is nothing more to wait for, whoever may still write
		stdout.Close()
		defer time.AfterFunc(farewell, kill).Stop()
	}
	failed := c.Wait()
	stop()
	close(gone)
	<-ended
	if failed != nil { // it may have been killed, and what it started still be there
		tidy()
	}
	switch {
	case ctx.Err() != nil:
		return outcome{}, context.Cause(ctx)
	case !ready:
		return outcome{}, rl.Errorf(rl.Unavailable, at, "%s makes no sandbox here: %s", b.name, errors.Join(failed, errors.New(strings.TrimSpace(string(said.kept)))))
	case why != "":
		o.stopped, o.tree = why, nil
	case errors.Is(broken, errRoom):
		o.notes, o.tree = append(o.notes, broken.Error()+"; it is as it was before"), nil
	case broken != nil:
		o.stopped, o.tree = "the sandbox ended; the working directory is as it was before", nil
	case o.exit == 128+9 || o.exit == 124:
		o.stopped, o.exit = fmt.Sprintf("it was killed, or took longer than %ds", seconds), 0
	}
	return o, nil
}

// read takes in what wrapper.sh writes, which the program may have tampered with: it can spoil what becomes of itself, and nothing
// else.
func read(r *bufio.Reader, most int, limit room) (o outcome, ready bool, err error) {
	if first, err := r.ReadString('\n'); first != "ready\n" {
		return o, false, errors.Join(err, fmt.Errorf("%.100q", first))
	}
	var status, length int
	if _, err := fmt.Fscanf(r, "%d\n%d\n", &status, &length); err != nil {
		return o, true, fmt.Errorf("no status: %w", err)
	}
	o.exit, o.whole = status&255, max(0, length)
	kept := make([]byte, min(o.whole, most))
	if _, err := io.ReadFull(r, kept); err != nil {
		return o, true, fmt.Errorf("half an output: %w", err)
	}
	o.output = string(kept)
	var leftOut []string
	o.tree, leftOut, err = unpack(r, limit)
	if n := len(leftOut); n > 0 {
		o.notes = append(o.notes, fmt.Sprintf("%d links, devices or odd names in the working directory are not kept, such as %.80q", n, leftOut[0]))
	}
	return o, true, err
}

func newBox(name string, b bounds) *box {
	return &box{bounds: b, name: name, places: newPlaces(), ready: func(context.Context) error { return nil }}
}
