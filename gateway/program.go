package gateway

import (
	"bytes"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

// program is the agent's program, or the one that scores it, while it runs.
type program struct {
	*child.Process
	out  child.Tail // its last output
	errs child.Tail // and error output
	read chan struct{}
	hide *child.Hider // what nobody may read of both
}

// How long a program that is ended has before SIGTERM, and after it, and how much of its error output is told, in bytes.
const (
	grace       = 500 * time.Millisecond
	failureTail = 800
)

// start starts a command line in an episode's directory, with some input and with more arguments.
func (a *Agent) start(key, line, dir string, told []string, secrets map[string]string, input string, more ...string) (p *program, err error) {
	words, err := child.Words(line)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, key, "%w", err)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{dir}", dir)
	}
	env, named, err := child.Environment("env.agent.env", a.Env)
	if err != nil {
		return nil, err
	}
	maps.Copy(named, secrets)
	env = append(append(env, "TMPDIR="+dir, "LONGHAUL_DIR="+dir), told...)
	in := a.Directory
	if in == "" {
		in = dir
	}
	p = &program{out: child.Tail{Keep: a.Output}, errs: child.Tail{Keep: failureTail}, read: make(chan struct{}), hide: child.NewHider(named)}
	p.Process, err = child.Start(child.Command{At: at, Words: append(words, more...), Dir: in, Env: env, Stderr: &p.errs})
	if err != nil {
		return nil, err
	}
	go func() {
		io.WriteString(p.Stdin, input) // a program need not read it
		p.Stdin.Close()
	}()
	go func() {
		io.Copy(&p.out, p.Stdout)
		close(p.read)
	}()
	return p, nil
}

// finish ends all that the program has started, once it has ended by itself, and reads the last of its output.
func (p *program) finish() {
	p.Kill()
	select {
	case <-p.read:
	case <-time.After(grace): // something that left the group holds it open
	}
	p.Stop(0)
}

// output is the end of a program's output, without what nobody may read.
func (p *program) output() string { return p.out.Text(p.hide) }

// lastLine is the last line that is not blank.
func lastLine(text string) string {
	lines := bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
