//go:build unix

package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Command is what is started.
type Command struct {
	At     string    // the boundary that errors name: "environment mcp"
	Words  []string  // the program, which PATH finds, and its arguments
	Dir    string    // where it runs; empty: where this process does
	Env    []string  // NAME=VALUE, all of it: nothing is inherited (see Plain)
	Stderr io.Writer // nil: discarded
}

// Process is a child that was started.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	group int    // its process group, which is its own id
	label string // LONGHAUL_CHILD=...
	done  chan struct{}
	err   error // how it ended, once done is closed
	stop  sync.Once
}

// label is the variable that children and what they start carry.
const label = "LONGHAUL_CHILD="

var started atomic.Int64

// Start starts a command. Errors: Invalid when there is no such program, Unavailable when this machine has no room for it.
func Start(c Command) (*Process, error) {
	owner, err := own()
	if err != nil {
		return nil, rl.Errorf(rl.Unavailable, c.At, "%w", err)
	}
	if len(c.Words) == 0 {
		return nil, rl.Errorf(rl.Invalid, c.At, "there is no command")
	}
	p := &Process{label: label + owner.name + "." + strconv.FormatInt(started.Add(1), 10), done: make(chan struct{})}
	cmd := exec.Command(c.Words[0], c.Words[1:]...)
	cmd.Env = append(append([]string{}, c.Env...), p.label)
	cmd.Dir, cmd.Stderr = c.Dir, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for the error output, which what it left running may hold open
	if p.Stdin, err = cmd.StdinPipe(); err != nil {
		return nil, rl.Errorf(rl.Unavailable, c.At, "%w", err)
	}
	out, in, err := os.Pipe() // not cmd's own pipe: Wait would close it before the last was read
	if err != nil {
		return nil, rl.Errorf(rl.Unavailable, c.At, "%w", err)
	}
	cmd.Stdout, p.Stdout = in, out
	err = cmd.Start()
	in.Close()
	if err != nil {
		p.Stdin.Close()
		out.Close()
		kind := rl.Unavailable
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			kind = rl.Invalid
		}
		return nil, rl.Errorf(kind, c.At, "it cannot be started: %w", err)
	}
	p.group = cmd.Process.Pid
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the process itself has ended; what it started may go on.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended says how the process ended, and waits for that.
func (p *Process) Ended() string {
	<-p.done
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// Status is the exit status of a process that has ended, and -1 of one that a signal ended. It waits for the end.
func (p *Process) Status() int {
	<-p.done
	if e, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return e.ExitCode()
	}
	return 0
}

// Stop ends the process and everything that it started, and waits until they are gone: its input is closed, after grace it is sent
// SIGTERM, after as long again everything of it is killed. A grace of 0 kills at once.
func (p *Process) Stop(grace time.Duration) {
	p.stop.Do(func() {
		p.Stdin.Close()
		if grace > 0 && !p.wait(grace) {
			_ = syscall.Kill(-p.group, syscall.SIGTERM) // it may have ended
			p.wait(grace)
		}
		_ = syscall.Kill(-p.group, syscall.SIGKILL)
		killLabelled(p.label)
		<-p.done
		p.Stdout.Close()
	})
}

func (p *Process) wait(d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-p.done:
		return true
	case <-late.C:
		return false
	}
}

// Kill kills the process and all of its group at once, and returns before they are gone. Stop is still to be called.
func (p *Process) Kill() { _ = syscall.Kill(-p.group, syscall.SIGKILL) }

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("process %d", p.group) }
