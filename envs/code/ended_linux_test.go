package code

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// running counts the processes that have a text in their command line.
func running(text string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(text)) {
			n++
		}
	}
	return n
}

// A box whose time ends while it is being made, at whatever moment, is gone, with all that was started of it.
func TestEndedAtAnyMoment(t *testing.T) {
	box := aBubblewrap(t)
	mark := fmt.Sprintf("mark-%d", os.Getpid())
	for i := range 120 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*250*time.Microsecond)
		began := time.Now()
		_, err := box.run(ctx, tree{}, program{language: python, source: "while True: pass # " + mark, most: 100})
		cancel()
		if err == nil || time.Since(began) > 15*time.Second {
			t.Fatalf("ended after %s: %v after %s", time.Duration(i)*250*time.Microsecond, err, time.Since(began))
		}
	}
	for end := time.Now().Add(30 * time.Second); running(mark) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d processes are left", running(mark))
		}
	}
}

// Who ends in place of the box's first process, such as the kernel's killer of what takes too much memory, holds nothing up.
func TestFirstProcessIsKilled(t *testing.T) {
	box := aBubblewrap(t)
	mark := fmt.Sprintf("first-%d", os.Getpid())
	go func() {
		for running(mark) < 3 {
			time.Sleep(time.Millisecond)
		}
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(mark)) && strings.HasSuffix(strings.SplitN(string(b), "\x00", 2)[0], "bwrap") {
				var pid int
				fmt.Sscanf(file, "/proc/%d/", &pid)
				if p, err := os.FindProcess(pid); err == nil {
					p.Kill()
				}
				return
			}
		}
	}()
	began := time.Now()
	if o, err := box.run(t.Context(), tree{}, program{language: python, source: "while True: pass # " + mark, most: 100}); err == nil && o.stopped == "" || time.Since(began) > 15*time.Second {
		t.Errorf("%+v, %v after %s", o, err, time.Since(began))
	}
}

// What is left of a worker that was killed is ended by the next that opens the world, once its time is over.
func TestBoxesThatOverstay(t *testing.T) {
	box := aBubblewrap(t)
	start := func(name string) *exec.Cmd {
		c := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "sh", "-c", "sleep 1000; :", name)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill() })
		return c
	}
	old, current := start("longhaul-1000000000-abcdefghijkl"), until(time.Now().Add(time.Hour))
	start(current)
	for running(current) < 3 {
		time.Sleep(time.Millisecond)
	}
	if err := box.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	old.Wait() // or it hangs
	if running(current) < 3 {
		t.Error("a box whose time is not over is ended")
	}
}
