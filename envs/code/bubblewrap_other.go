//go:build !linux

package code

import (
	"os/exec"

	"github.com/longhaul-rl/longhaul/rl"
)

// newBubblewrap is refused: bubblewrap is Linux's.
func newBubblewrap(b bounds, _ []string) *box {
	out := newBox("bubblewrap", b)
	out.command = func([]string) (*exec.Cmd, func(), error) {
		return nil, nil, rl.Errorf(rl.Invalid, "env.code.sandbox", "bubblewrap is there on Linux only: use micropython, or a container")
	}
	return out
}
