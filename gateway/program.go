package gateway

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

// program is the agent's program, or the one that scores it, while it runs.
type program struct {
	*child.Process
	out  tail // its last output
	errs tail // and error output
	read chan struct{}
}

// How long a program that is ended has before SIGTERM, and after it, and how much of its error output is told, in bytes.
const (
	grace       = 500 * time.Millisecond
	failureTail = 800
)

// start starts a command line in an episode's directory, with some input and with more arguments.
func (a *Agent) start(key, line, dir string, env []string, input string, more ...string) (p *program, err error) {
	words, err := child.Words(line)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, key, "%w", err)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{dir}", dir)
	}
	in := a.Directory
	if in == "" {
		in = dir
	}
	p = &program{out: tail{keep: a.Output}, errs: tail{keep: failureTail}, read: make(chan struct{})}
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

// environment is what a program of an episode is told, besides what is nobody's secret. pairs are env.agent.env.
func environment(pairs, dir string, told ...string) []string {
	env := append(child.Plain(), "TMPDIR="+dir, "LONGHAUL_DIR="+dir)
	for pair := range strings.SplitSeq(pairs, ",") {
		if name, variable, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			env = append(env, name+"="+os.Getenv(variable))
		}
	}
	return append(env, told...)
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	keep int
	b    []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - t.keep; over > t.keep { // not each time
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// String is what is kept, as text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.b[max(0, len(t.b)-t.keep):]
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// lastLine is the last line that is not blank.
func lastLine(text string) string {
	lines := bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
