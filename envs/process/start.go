package process

import (
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// start runs a shell command. Errors are of the machine: a program that cannot run says so by ending.
func start(line string, environ []string, log *slog.Logger, hide *strings.Replacer) (*program, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	g, err := newGroup()
	if err != nil {
		pipes.close()
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2], environ
	if err := g.start(cmd); err != nil {
		g.end()
		pipes.close()
		return nil, err
	}
	for _, f := range pipes.theirs {
		f.Close()
	}
	c := &program{
		cmd: cmd, group: g, in: pipes.ours[0], said: &said{log: log, hide: hide},
		turn: make(chan struct{}, 1), heard: make(chan reply), dying: make(chan struct{}), gone: make(chan struct{}),
	}
	var once sync.Once
	c.kill = func(why error) {
		once.Do(func() {
			c.why = c.said.hidden(why)
			close(c.dying)
			g.kill()
		})
	}
	go c.run(pipes)
	return c, nil
}

// pipes are of stdin, stdout and stderr.
type pipes struct{ ours, theirs [3]*os.File }

func newPipes() (p pipes, err error) {
	for i := range p.ours {
		read, write, err := os.Pipe()
		if err != nil {
			p.close()
			return p, err
		}
		p.ours[i], p.theirs[i] = read, write
		if i == 0 {
			p.ours[i], p.theirs[i] = write, read
		}
	}
	return p, nil
}

func (p pipes) close() {
	for i := range p.ours {
		p.ours[i].Close() // closing what was not opened is an error, and nothing else
		p.theirs[i].Close()
	}
}
