package code

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How often a box is looked at, and how many inodes its directories may have for each file that is kept.
const (
	watchEvery    = 25 * time.Millisecond
	inodesPerFile = 16
)

// watch ends a box whose processes together, or whose files, take too much.
func watch(c *exec.Cmd, b bounds, gone <-chan struct{}) string {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-gone:
			return ""
		case <-tick.C:
		}
		processes := family(c.Process.Pid)
		why := ""
		switch {
		case heavy(processes, b.memory):
			why = fmt.Sprintf("its processes took more than %d MiB of memory", b.memory>>20)
		case crowded(processes, b.disk):
			why = fmt.Sprintf("it made more files than %d", inodesPerFile*b.disk.files)
		}
		if why != "" {
			c.Process.Kill()
			return why + "; the working directory is as it was before"
		}
	}
}

// family is a process and all that descend from it.
func family(pid int) (pids []int) {
	pids = []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, task := range tasks {
			for child := range strings.FieldsSeq(content(task)) {
				if n, err := strconv.Atoi(child); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return pids
}

// heavy reports whether processes take more than so many bytes together, beside what they have of files. What each has resident
// is soon read, but counts what several share for each of them; only where that is too much are shares looked at.
func heavy(pids []int, limit int64) bool {
	resident, shares := int64(0), int64(0)
	for _, pid := range pids {
		resident += memoryOf(pid)
	}
	if resident <= limit {
		return false
	}
	for _, pid := range pids {
		if exact := content(fmt.Sprintf("/proc/%d/smaps_rollup", pid)); strings.Contains(exact, "\nPss_Shmem:") {
			shares += kilobytes(exact, "Pss_Anon:", "Pss_Shmem:") << 10
		} else {
			shares += memoryOf(pid)
		}
	}
	return shares > limit
}

// memoryOf is what a process has resident, in bytes: its own, and what is shared and no file's, such as an anonymous mapping that
// its children have, too.
func memoryOf(pid int) int64 {
	return kilobytes(content(fmt.Sprintf("/proc/%d/status", pid)), "RssAnon:", "RssShmem:") << 10
}

// kilobytes adds fields of a file of /proc: lines of a name and "N kB".
func kilobytes(text string, fields ...string) (n int64) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && slices.Contains(fields, f[0]) {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			n += kb
		}
	}
	return n
}

func content(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

// crowded reports whether a box's directories have too many inodes, which is memory of the kernel's.
func crowded(processes []int, limit room) bool {
	if len(processes) < 2 {
		return false
	}
	root := fmt.Sprintf("/proc/%d/root", processes[1]) // the box's first process
	ours, err1 := os.Stat("/")
	theirs, err2 := os.Stat(root + "/")
	if err1 != nil || err2 != nil || os.SameFile(ours, theirs) { // it is not in the box yet
		return false
	}
	for _, dir := range []string{"/task", "/tmp"} {
		var s unix.Statfs_t
		if unix.Statfs(root+dir, &s) == nil && s.Files-s.Ffree > uint64(inodesPerFile*limit.files) {
			return true
		}
	}
	return false
}
