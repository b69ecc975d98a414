package code

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	out.ready = func(context.Context) error {
		for _, dir := range see {
			if _, err := os.Stat(dir); err != nil {
				return rl.Errorf(rl.Invalid, "env.code.see", "%w", err)
			}
		}
		killBoxes(func(name string) bool { return overstayed(name, time.Now()) })
		return nil
	}
	out.command = func(args []string) (*exec.Cmd, func(), error) {
		path, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, nil, rl.Errorf(rl.Invalid, "env.code.sandbox", "bubblewrap is not installed (the program bwrap): %w", err)
		}
		calls, err := filter()
		if err != nil {
			return nil, nil, err
		}
		filtered, w, err := os.Pipe() // which holds a filter whole
		if err != nil {
			return nil, nil, rl.Errorf(rl.Unavailable, at, "%w", err)
		}
		_, err = w.Write(calls)
		w.Close()
		if err != nil {
			filtered.Close()
			return nil, nil, rl.Errorf(rl.Unavailable, at, "%w", err)
		}
		name, size := until(time.Now().Add(b.time+startUp)), strconv.FormatInt(b.disk.memory(), 10)
		flags := []string{"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--seccomp", "3",
			"--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"}
		for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
			if to, err := os.Readlink(dir); err == nil {
				flags = append(flags, "--symlink", to, dir)
			} else {
				flags = append(flags, "--ro-bind-try", dir, dir)
			}
		}
		for _, dir := range []string{"/etc/alternatives", "/etc/ld.so.cache"} {
			flags = append(flags, "--ro-bind-try", dir, dir)
		}
		for _, dir := range see {
			flags = append(flags, "--ro-bind", dir, dir)
		}
		flags = append(flags, "--size", size, "--tmpfs", "/task", "--size", size, "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/task",
			"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/task", "--setenv", "LANG", "C.UTF-8",
			"--setenv", "PYTHONHASHSEED", "0", "--setenv", "PYTHONDONTWRITEBYTECODE", "1", "sh", "-c", wrapper, name)
		c := exec.Command(path, append(flags, args...)...)
		c.Dir, c.Env, c.ExtraFiles = "/", []string{}, []*os.File{filtered}
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if os.Geteuid() == 0 {
			c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		}
		return c, func() { killBoxes(func(other string) bool { return other == name }) }, nil
	}
	out.watch = watch
	return out
}

// killBoxes kills the boxes of some names, until none is left. --die-with-parent does that where bwrap ends, but not where it ends before
// what it has started for the box has asked for it: that would go on, or wait for bwrap for ever. The first process of a box, with which
// all others end, is a bwrap with the same arguments, the box's name among them.
func killBoxes(which func(name string) bool) {
	for range 100 {
		left := false
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
		for _, file := range files {
			words := strings.Split(content(file), "\x00")
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && filepath.Base(words[0]) == "bwrap" && slices.ContainsFunc(words, which) {
				left = syscall.Kill(pid, syscall.SIGKILL) == nil || left
			}
		}
		if !left {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
