//go:build unix

package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// killLabelled kills the processes whose environment has the label, or begins one with it where it ends with ".", and says
// how many there were. It looks again until there are none: a process may be starting another.
func killLabelled(label string) int {
	killed := map[int]bool{}
	for range 100 {
		found := labelled(label)
		if len(found) == 0 {
			break
		}
		for _, pid := range found {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = true
			}
		}
		time.Sleep(10 * time.Millisecond) // until the kernel has ended them
	}
	return len(killed)
}

// labelled are the processes that live and carry a label.
func labelled(label string) (pids []int) {
	want := "\x00" + label
	if label[len(label)-1] != '.' {
		want += "\x00"
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, file := range files {
		b, err := os.ReadFile(file) // empty of a process that has ended and was not waited for
		if err != nil || !bytes.Contains(append([]byte{0}, b...), []byte(want)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Memory is what the groups of some children have resident together, in bytes; pages that processes share count for each.
// It is 0 where there is no /proc.
func Memory(children []*Process) (n int64) {
	of := map[int]bool{}
	for _, p := range children {
		of[p.group.id()] = true
	}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp ...: the name may hold anything, so fields are counted from its end. rss is the 24th.
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		group, _ := strconv.Atoi(string(fields[2]))
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		if of[group] {
			n += pages * int64(os.Getpagesize())
		}
	}
	return n
}
