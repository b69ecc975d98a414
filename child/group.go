//go:build unix

package child

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// group is a group of processes that ends with this process, however that ends: a guard, which leads it, waits for the end of a
// pipe whose other end is only here. The kernel closes that when this process is gone, kill -9 included, and the guard kills
// the group. As long as nobody has waited for the guard, the group's number is nobody else's, even when it is empty.
type group struct {
	guard *exec.Cmd
	held  *os.File

	mu   sync.Mutex
	over bool
}

// newGroup starts a guard. It outlives the SIGTERM that asks its group to end.
func newGroup() (*group, error) {
	read, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	guard := exec.Command("/bin/sh", "-c", "trap '' HUP INT TERM; read -r _; kill -9 0")
	guard.Stdin, guard.Env = read, []string{}
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		held.Close()
		return nil, fmt.Errorf("the guard of its group, /bin/sh: %v", err) // not as if the command were not there
	}
	return &group{guard: guard, held: held}, nil
}

// id is the group's number.
func (g *group) id() int { return g.guard.Process.Pid }

// signal sends a signal to all of the group, until it is over.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		_ = syscall.Kill(-g.id(), s) // the guard is there to get it, if only as a zombie
	}
}

// end kills the group, and gives its number back.
func (g *group) end() {
	g.signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.over = true
		_ = g.guard.Wait() // it was killed
		g.held.Close()
	}
}
