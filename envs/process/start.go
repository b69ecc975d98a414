package process

import (
	"io"
	"log/slog"
	"sync"

	"github.com/longhaul-rl/longhaul/child"
)

// start runs a shell command. Errors are of the machine: a program that cannot run says so by ending.
func start(line string, environ []string, log *slog.Logger, hide *child.Hider) (*program, error) {
	said := newSaid(log, hide)
	stderr, writes := io.Pipe()
	p, err := child.Start(child.Command{At: at, Words: []string{"/bin/sh", "-c", line}, Env: environ, Stderr: writes})
	if err != nil {
		return nil, err
	}
	c := &program{
		child: p, said: said,
		turn: make(chan struct{}, 1), heard: make(chan reply), dying: make(chan struct{}), gone: make(chan struct{}),
	}
	var once sync.Once
	c.kill = func(why error) {
		once.Do(func() {
			c.why = said.hidden(why)
			close(c.dying)
			p.Kill()
		})
	}
	go func() {
		<-p.Done()
		writes.Close()
	}()
	go c.run(stderr)
	return c, nil
}
