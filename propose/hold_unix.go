//go:build unix

package propose

import (
	"os"
	"syscall"
)

// hold locks a file for as long as this process has it open.
func hold(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
