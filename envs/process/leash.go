package process

import (
	"os"
	"os/exec"
	"syscall"
)

// group is a group of processes that ends with this process, however that ends: a guard in it waits for the end of a pipe, whose
// other end is only here. The kernel closes that when this process is gone, kill -9 included, and the guard kills the group: the
// program, and what it has started, unless that has left the group.
type group struct {
	guard *exec.Cmd
	held  *os.File
}

// newGroup starts a guard, which leads the group.
func newGroup() (*group, error) {
	read, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	guard := exec.Command("/bin/sh", "-c", "read -r _; kill -9 0")
	guard.Stdin, guard.Env = read, []string{}
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		held.Close()
		return nil, err
	}
	return &group{guard, held}, nil
}

// start starts a command in the group.
func (g *group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.guard.Process.Pid}
	return cmd.Start()
}

// kill ends every process of the group. Until end, its number is nobody else's.
func (g *group) kill() { syscall.Kill(-g.guard.Process.Pid, syscall.SIGKILL) }

// end kills the group and cleans up after the guard.
func (g *group) end() {
	g.kill()
	g.guard.Wait()
	g.held.Close()
}
