package code

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// sandbox runs programs that a model wrote, over a working directory and nothing else.
type sandbox interface {
	// run runs a program and says what became of it. The error is one of the host's: what the program does is never one.
	run(ctx context.Context, t tree, p program) (outcome, error)
	// python is the language as the agent is told of it.
	python() string
	// shell reports whether there is a shell.
	shell() bool
}

// newPlaces has a place for each program that runs at once.
func newPlaces() chan struct{} { return make(chan struct{}, max(2, runtime.GOMAXPROCS(0))) }

// queued is the error of a program whose turn did not come.
func queued(ctx context.Context, places chan struct{}) error {
	return rl.Errorf(rl.Unavailable, at, "it waited for one of the %d places that programs run in: %w", cap(places), context.Cause(ctx))
}

// program is what a sandbox is asked to run.
type program struct {
	language string // python or shell
	source   string
	seed     uint64 // of what it reads of /dev/urandom, where that can be given
	most     int    // output kept, in bytes
}

const (
	python = "python"
	shell  = "shell"
)

// bounds are a sandbox's limits on one program.
type bounds struct {
	time      time.Duration
	memory    int64 // bytes
	processes int
	disk      room
}

// outcome is what became of a program.
type outcome struct {
	output  string // of both streams, as it came, cut
	whole   int    // length of the output that there was, in bytes, as far as it is known
	exit    int
	stopped string // why the sandbox ended it; empty: it ended by itself
	notes   []string
	tree    tree // the working directory that it left; nil: as it was
}

// text is an outcome as the agent sees it.
func (o outcome) text() string {
	s := o.output
	if o.whole > len(o.output) {
		s += fmt.Sprintf("\n[truncated: %d of %d bytes]", len(o.output), o.whole)
	}
	add := func(format string, args ...any) {
		if s != "" && s[len(s)-1] != '\n' {
			s += "\n"
		}
		s += fmt.Sprintf(format, args...)
	}
	for _, n := range o.notes {
		add("[%s]", n)
	}
	switch {
	case o.stopped != "":
		add("[stopped: %s]", o.stopped)
	case o.exit != 0:
		add("[exit status %d]", o.exit)
	case s == "":
		add("[no output]")
	}
	return s
}

// capture keeps the first bytes of what is written to it, and counts the rest.
type capture struct {
	kept  []byte
	most  int
	whole int
}

// Write is io.Writer's; it never fails.
func (c *capture) Write(b []byte) (int, error) {
	c.whole += len(b)
	c.kept = append(c.kept, b[:min(len(b), c.most-len(c.kept))]...)
	return len(b), nil
}
