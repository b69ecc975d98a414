//go:build unix

package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	Stdin  *os.File
	Stdout *os.File // is read by the caller, also after the end; what left the group may hold it open until Stop

	pid   int
	group *group
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
	cmd.WaitDelay = time.Second // for the error output, which what it left running may hold open
	if err := p.start(cmd); err != nil {
		kind := rl.Unavailable
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			kind = rl.Invalid
		}
		return nil, rl.Errorf(kind, c.At, "it cannot be started: %w", err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// start starts a command in a group of its own, between two pipes. They are not cmd's own: Wait would close those before the last
// was read.
func (p *Process) start(cmd *exec.Cmd) (err error) {
	if cmd.Err != nil {
		return cmd.Err // there is no such program
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	stdout, out, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return err
	}
	defer out.Close()
	defer func() {
		if err != nil {
			stdin.Close()
			stdout.Close()
		}
	}()
	if p.group, err = newGroup(); err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout = in, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: p.group.id()}
	if err = cmd.Start(); err != nil {
		p.group.end()
		return err
	}
	p.Stdin, p.Stdout, p.pid = stdin, stdout, cmd.Process.Pid
	return nil
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
			p.group.signal(syscall.SIGTERM)
			p.wait(grace)
		}
		p.group.end()
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
func (p *Process) Kill() { p.group.signal(syscall.SIGKILL) }

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("process %d", p.pid) }
