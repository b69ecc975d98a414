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

	"github.com/longhaul-rl/longhaul/rl"
)

// obedient is a job that does as a file tells it, and leaves a mark when it begins.
const obedient = `#!/bin/sh
echo "$LONGHAUL_OWNER $LONGHAUL_ATTEMPT $LONGHAUL_SPEC_URI $SECRET ${AWS_PROFILE-none} ${JUDGE_API_KEY-none} ${HF_TOKEN-none} $TOKENIZERS_PARALLELISM" >begun
while [ ! -e ../tell ]; do sleep 0.01; done
echo ending
exec sh -c "rm ../tell.taken; $(mv ../tell ../tell.taken; cat ../tell.taken)"
`

func init() {
	grounds["local"] = func(t *testing.T) ground { return newLocalGround(t, obedient) }
}

type localGround struct{ dir, python string }

func newLocalGround(t *testing.T, script string) *localGround {
	t.Helper()
	dir := t.TempDir()
	g := &localGround{filepath.Join(dir, "jobs"), filepath.Join(dir, "a python")}
	if err := os.WriteFile(g.python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.killAll(g.open(t).(*local)) }) // what a test leaves running
	return g
}

// killAll kills every job, and returns when none writes any more.
func (g *localGround) killAll(l *local) {
	entries, _ := os.ReadDir(g.dir)
	for _, e := range entries {
		d := localdir(filepath.Join(g.dir, e.Name()))
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			lock, free, err := d.lock(syscall.LOCK_SH)
			if free {
				lock.Close()
			}
			if err != nil || free {
				break
			}
			if pid, err := d.running(); err == nil {
				syscall.Kill(-pid, syscall.SIGKILL)
			}
			killAll("LONGHAUL_OWNER=" + l.named(d)) // what has gone to a session of its own
		}
	}
}

func (g *localGround) open(t *testing.T) Launcher {
	t.Helper()
	l, err := Open(rl.UpdateConfig{Use: "local", Local: rl.LocalConfig{Python: g.python}}, Host{Dir: g.dir, Secret: map[string]string{"SECRET": "s3cret"}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (g *localGround) place(job Job) localdir { return localdir(filepath.Join(g.dir, job.Name())) }

func (g *localGround) end(t *testing.T, job Job, exit int) {
	t.Helper()
	d := g.place(job)
	if exit < 0 {
		pid, err := d.running()
		if err == nil {
			err = syscall.Kill(-pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	tell := filepath.Join(string(d), "tell")
	if err := os.WriteFile(tell+".new", fmt.Appendf(nil, "exit %d", exit), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tell+".new", tell); err != nil { // the job takes what it finds, and half of it for a whole
		t.Fatal(err)
	}
}

func (g *localGround) starts(t *testing.T, job Job) int {
	t.Helper()
	begun, err := filepath.Glob(filepath.Join(string(g.place(job)), "*", "begun"))
	if err != nil {
		t.Fatal(err)
	}
	return len(begun)
}

// A job is told its spec, its owner, which is the same in all attempts, and the store's secret; of the environment's own
// way to S3, and of other servers' keys, nothing.
func TestLocalJobsEnvironment(t *testing.T) {
	for _, name := range []string{"AWS_PROFILE", "JUDGE_API_KEY", "HF_TOKEN"} {
		t.Setenv(name, "somebody")
	}
	t.Setenv("TOKENIZERS_PARALLELISM", "false")
	g, job := newLocalGround(t, obedient), aJob(t)
	l := g.open(t)
	for n := 1; n <= 2; n++ {
		ensure(t, l, job, n)
		began(t, g, job, n)
		g.end(t, job, ExitRetry)
		await(t, l, job, n, Lost)
		b, err := os.ReadFile(g.place(job).file(n, "begun"))
		if err != nil {
			t.Fatal(err)
		}
		host, _ := os.Hostname()
		if want := fmt.Sprintf("%s:%s %d s3://bucket s3cret none none none false\n", host, g.place(job), n); string(b) != want {
			t.Errorf("attempt %d was told %q, want %q", n, b, want)
		}
	}
}

// Whichever of a job's processes is killed, the job counts as running for as long as one of them lives, and is over
// afterwards; how it ended is known where its shell lived on.
func TestLocalJobLosesAProcess(t *testing.T) {
	const forking = "#!/bin/sh\necho $$ >inner.new && mv inner.new inner\nwhile [ ! -e ../go ]; do sleep 0.01; done\nexit 42\n"
	for _, c := range []struct {
		kill string
		want State
		exit int
	}{{"pid", Lost, -1}, {"inner", Lost, -1}, {"", Failed, ExitPermanent}} {
		g, job := newLocalGround(t, forking), aJob(t)
		l := g.open(t)
		ensure(t, l, job, 1)
		d := g.place(job)
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if _, err := d.number(1, "inner"); err == nil || time.Now().After(end) {
				break
			}
		}
		if c.kill != "" {
			pid, err := d.number(1, c.kill)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if c.kill != "inner" { // the job itself goes on for a while
			time.Sleep(300 * time.Millisecond)
			if s, err := l.Poll(t.Context(), job); err != nil || s.State != Running {
				t.Errorf("killed %q it is %+v, %v", c.kill, s, err)
			}
			if err := os.WriteFile(filepath.Join(string(d), "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if s := await(t, l, job, 1, c.want); s.Exit != c.exit || s.Ran < 200*time.Millisecond && c.kill != "inner" {
			t.Errorf("killed %q: %+v, want exit %d", c.kill, s, c.exit)
		}
	}
}

// SIGTERM is the job's to answer: what it leaves and how it ends are its own.
func TestLocalCancelLetsTheJobLeaveWhatItCan(t *testing.T) {
	const polite = "#!/bin/sh\ntrap 'echo leaving; exit 143' TERM\ntouch begun\nwhile :; do sleep 0.01; done\n"
	g, job := newLocalGround(t, polite), aJob(t)
	l := g.open(t)
	ensure(t, l, job, 1)
	began(t, g, job, 1)
	if err := l.Cancel(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	s := await(t, l, job, 1, Lost)
	b, err := os.ReadFile(g.place(job).file(1, "log.txt"))
	if s.Exit != ExitPreempted || err != nil || !strings.Contains(string(b), "leaving") {
		t.Errorf("%+v, %q, %v", s, b, err)
	}
}

// An interpreter that is not there is said at once, and no attempt; one that is named from here is found.
func TestLocalPython(t *testing.T) {
	for _, python := range []string{"no-such-python", "/no/such/python", "./no-such-python"} {
		g, job := &localGround{filepath.Join(t.TempDir(), "jobs"), python}, aJob(t)
		l := g.open(t)
		err := l.Ensure(t.Context(), job, 1)
		if s, _ := l.Poll(t.Context(), job); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "update.local.python: it cannot be run") || s.State != Absent {
			t.Errorf("%s: %v, %+v", python, err, s)
		}
	}
	g, job := newLocalGround(t, "#!/bin/sh\nexit 0\n"), aJob(t)
	t.Chdir(filepath.Dir(g.python))
	g.python = "./" + filepath.Base(g.python)
	l := g.open(t)
	ensure(t, l, job, 1)
	await(t, l, job, 1, Done)
}

// A clock that is set back makes no time negative.
func TestLocalClockSetBack(t *testing.T) {
	g, job := newLocalGround(t, "#!/bin/sh\nexit 75\n"), aJob(t)
	l := g.open(t)
	ensure(t, l, job, 1)
	await(t, l, job, 1, Lost)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(g.place(job).file(1, "pid"), later, later); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Poll(t.Context(), job); err != nil || s.Ran != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What a job left goes a week after its last attempt began, unless it runs.
func TestLocalSweep(t *testing.T) {
	g := newLocalGround(t, obedient)
	l := g.open(t)
	old, running, next := aJob(t), aJob(t), aJob(t)
	old.Update, running.Update = 1, 2
	for _, job := range []Job{old, running} {
		ensure(t, l, job, 1)
		began(t, g, job, 1)
	}
	g.end(t, old, ExitDone)
	await(t, l, old, 1, Done)
	for _, job := range []Job{old, running} {
		long := time.Now().Add(-kept - time.Minute)
		if err := os.Chtimes(string(g.place(job)), long, long); err != nil {
			t.Fatal(err)
		}
	}
	ensure(t, l, next, 1)
	await(t, l, next, 1, Running)
	await(t, l, running, 1, Running)
	if s, err := l.Poll(t.Context(), old); err != nil || s.State != Absent {
		t.Errorf("the old job is %+v, %v", s, err)
	}
}

// doctor hears of an interpreter that is not there, and of one without the trainer.
func TestLocalCheck(t *testing.T) {
	for script, says := range map[string]string{
		"#!/bin/sh\necho 3.12.1\n":         "a python (Python 3.12.1) has longhaul_trainer",
		"#!/bin/sh\necho 3.12.1\nexit 1\n": "a python has no longhaul_trainer (Python 3.12.1)",
		"":                                 "a python cannot be asked: ",
	} {
		g := newLocalGround(t, script)
		if script == "" {
			os.Remove(g.python)
		}
		f := g.open(t).(Checker).Check(t.Context())[0]
		if got := fmt.Sprint(f.Found, f.Err); !strings.Contains(got, says) || (f.Err == nil) != (f.Found != "") {
			t.Errorf("%q: %+v", script, f)
		}
		if _, err := os.Stat(g.dir); err == nil {
			t.Error("a look has made the directory")
		}
	}
}
