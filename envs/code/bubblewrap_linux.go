package code

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longhaul-rl/longhaul/rl"
)

// nobody is who runs boxes where this process is root: root's processes are not counted by the kernel, and so not limited.
const nobody = 65534

// newBubblewrap is a sandbox of bubblewrap, which needs no privileges where the kernel lets anybody make user namespaces. A
// program sees /usr and the directories named by see, both read only, and no network; its working directory and /tmp are
// memory. Its system calls are filtered, its processes' number, memory, files' size and processor time are limited by rlimits,
// and what they take up together is watched.
func newBubblewrap(b bounds, see []string) *box {
	out := newBox("bubblewrap", b)
	out.command = func(args []string) (*exec.Cmd, error) {
		path, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, "env.code.sandbox", "bubblewrap is not installed (the program bwrap): %w", err)
		}
		calls, err := filter()
		if err != nil {
			return nil, err
		}
		filtered, w, err := os.Pipe() // which holds a filter whole
		if err != nil {
			return nil, rl.Errorf(rl.Unavailable, at, "%w", err)
		}
		if _, err := w.Write(calls); err != nil {
			return nil, rl.Errorf(rl.Unavailable, at, "%w", err)
		}
		w.Close()
		size := strconv.FormatInt(b.disk.bytes, 10)
		flags := []string{"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--seccomp", "3",
			"--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"}
		for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
			if to, err := os.Readlink(dir); err == nil {
				flags = append(flags, "--symlink", to, dir)
			} else {
				flags = append(flags, "--ro-bind-try", dir, dir)
			}
		}
		for _, dir := range append([]string{"/etc/alternatives", "/etc/ld.so.cache"}, see...) {
			flags = append(flags, "--ro-bind-try", dir, dir)
		}
		flags = append(flags, "--size", size, "--tmpfs", "/task", "--size", size, "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/task",
			"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/task", "--setenv", "LANG", "C.UTF-8",
			"--setenv", "PYTHONHASHSEED", "0", "--setenv", "PYTHONDONTWRITEBYTECODE", "1", "sh", "-c", wrapper, "sandbox")
		c := exec.Command(path, append(flags, args...)...)
		c.Dir, c.Env, c.ExtraFiles = "/", []string{}, []*os.File{filtered}
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if os.Geteuid() == 0 {
			c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		}
		return c, nil
	}
	out.watch = watch
	return out
}

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
		processes, resident := family(c.Process.Pid)
		why := ""
		switch {
		case resident > b.memory:
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

// family is a process and all that descend from it, and the memory that they have resident, in bytes.
func family(pid int) (pids []int, resident int64) {
	pids = []int{pid}
	for i := 0; i < len(pids); i++ {
		dir := "/proc/" + strconv.Itoa(pids[i])
		if f := strings.Fields(content(dir + "/statm")); len(f) > 2 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			shared, _ := strconv.ParseInt(f[2], 10, 64)
			resident += (pages - shared) * int64(os.Getpagesize())
		}
		tasks, _ := filepath.Glob(dir + "/task/*/children")
		for _, task := range tasks {
			for child := range strings.FieldsSeq(content(task)) {
				if n, err := strconv.Atoi(child); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return pids, resident
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
