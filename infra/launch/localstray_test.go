//go:build unix

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An attempt that is over holds nothing up: not while its last process ends, nor while somebody looks.
func TestLocalJobIsStartedOnceItsLastAttemptIsOver(t *testing.T) {
	g, job := newLocalGround(t, "#!/bin/sh\nexit 75\n"), aJob(t)
	l := g.open(t)
	for n := 1; n <= 3; n++ {
		ensure(t, l, job, n)
		await(t, l, job, n, Lost)
		var look *os.File
		for free := false; !free; {
			var err error
			if look, free, err = g.place(job).lock(syscall.LOCK_SH); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(100*time.Millisecond, func() { look.Close() })
	}
}

// A job that has ended is over, whatever it has left in sessions of their own, and that is ended.
func TestLocalStrays(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc here")
	}
	const leaving = "#!/bin/sh\nsetsid sh -c 'echo $$ >../stray.new && mv ../stray.new ../stray; exec sleep 1000' &\nwhile [ ! -e ../stray ]; do sleep 0.01; done\n"
	for what, next := range map[string]func(*testing.T, Launcher, Job){
		"a look": func(t *testing.T, l Launcher, job Job) {},
		"the next attempt": func(t *testing.T, l Launcher, job Job) {
			ensure(t, l, job, 2)
			if s, err := l.Poll(t.Context(), job); err != nil || s.Attempt != 2 {
				t.Errorf("%+v, %v", s, err)
			}
		},
		"cancel": func(t *testing.T, l Launcher, job Job) {
			if err := l.Cancel(t.Context(), job); err != nil {
				t.Error(err)
			}
		},
	} {
		g, job := newLocalGround(t, leaving+"exit 75\n"), aJob(t)
		l := g.open(t)
		ensure(t, l, job, 1)
		if s := await(t, l, job, 1, Lost); s.Exit != ExitRetry {
			t.Errorf("%s: %+v", what, s)
		}
		b, err := os.ReadFile(filepath.Join(string(g.place(job)), "stray"))
		if err != nil {
			t.Fatal(err)
		}
		var stray int
		fmt.Sscan(string(b), &stray)
		next(t, l, job)
		for end := time.Now().Add(time.Minute); syscall.Kill(stray, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", stray)); strings.Contains(string(stat), ") Z ") {
				break // ended, and nobody has waited for it
			}
			if time.Now().After(end) {
				syscall.Kill(stray, syscall.SIGKILL)
				t.Fatalf("%s: what the job left lives", what)
			}
		}
	}
}
