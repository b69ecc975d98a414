//go:build unix

package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endStrays ends what the last attempt of a job has left behind, when its end is noted: processes that have gone to a session of
// their own, where the shell's signal did not reach them.
func (l *local) endStrays(d localdir) error {
	n, err := d.last()
	if err == nil && d.noted(n) {
		killAll("LONGHAUL_OWNER="+l.named(d), "LONGHAUL_ATTEMPT="+strconv.Itoa(n)) // the next one may be starting this moment
	}
	return err
}

// killAll kills the processes whose environment has all of these. It knows of them where there is a /proc, as on Linux.
func killAll(variables ...string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended, or is another user's
		}
		all := true
		for _, v := range variables {
			all = all && bytes.Contains(append([]byte{0}, b...), []byte("\x00"+v+"\x00"))
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && all {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}
