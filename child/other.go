//go:build !unix

package child

import (
	"io"
	"os"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Command is what is started.
type Command struct {
	At     string
	Words  []string
	Dir    string
	Env    []string
	Stderr io.Writer
}

// Process is a child that was started: none is, here.
type Process struct {
	Stdin  *os.File
	Stdout *os.File
}

// Start is Refused: without process groups a child could not be ended with all that it started.
func Start(c Command) (*Process, error) {
	return nil, rl.Errorf(rl.Refused, c.At, "processes are started on Unix alone: use a server that runs already")
}

// Done never says anything.
func (p *Process) Done() <-chan struct{} { return nil }

// Ended is empty.
func (p *Process) Ended() string { return "" }

// Status is none.
func (p *Process) Status() int { return -1 }

// Stop does nothing.
func (p *Process) Stop(time.Duration) {}

// Kill does nothing.
func (p *Process) Kill() {}

// String is empty.
func (p *Process) String() string { return "" }

// Dir makes an empty directory.
func Dir() (string, error) { return os.MkdirTemp("", "longhaul") }

// StopAll does nothing.
func StopAll() {}

// Left is none.
func Left() int { return 0 }

// Memory is none.
func Memory([]*Process) int64 { return 0 }
