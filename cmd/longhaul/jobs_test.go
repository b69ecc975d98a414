//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/launch"
)

// jobRun makes its updates by jobs of their own, or by the embedded trainer.
const jobRun = `name: jobs
env: {use: orders}
policy: {width: 32, layers: 1, hidden: 64}
warm_up: {max: 0}
group: {size: 4, per_update: 4, per_activity: 4}
reward: {use: cost}
update: {minibatches: 2, %s}
updates: %d
eval: {every: 0}
`

// aJobRun is a run on a data directory of its own whose jobs are this binary's trainer, which PATH finds.
func aJobRun(t *testing.T, updates int) *crashing {
	t.Helper()
	return jobRunOf(t, "use: local, usd_hour: 3600, local: {python: trainer}", updates)
}

func jobRunOf(t *testing.T, update string, updates int) *crashing {
	t.Helper()
	dir := t.TempDir()
	c := &crashing{file: filepath.Join(dir, "run.yaml"), data: filepath.Join(dir, "data")}
	if err := os.WriteFile(c.file, fmt.Appendf(nil, jobRun, update, updates), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stray(t) })
	return c
}

// stray ends what a failed test leaves running.
func (c *crashing) stray(t *testing.T) {
	for _, name := range []string{"pid", "trainer"} {
		for _, pid := range c.processes(t, name) {
			t.Logf("process %d (%s) is left", pid, name)
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for end := time.Now().Add(time.Minute); len(c.processes(t, name)) > 0 && time.Now().Before(end); { // or it writes to what is removed
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// processes are those of the run's jobs that live, by the file that says their number: pid for the shell, trainer for the
// job itself.
func (c *crashing) processes(t *testing.T, name string) (all []int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.data, "jobs", "*", "*", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		pid, bad := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || bad != nil {
			continue // being written
		}
		// The number may be another process's by now: its working directory tells, on Linux.
		if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && at == filepath.Dir(file) {
			all = append(all, pid)
		}
	}
	return all
}

// ended is what is left of a run that has ended by itself; it must verify.
func (c *crashing) ended(t *testing.T, done doneCheckpoint) remains {
	t.Helper()
	if out, err := command("verify", "jobs", "--data", c.data).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
	return left(t, c.data, "jobs", done)
}

func (c *crashing) finish(t *testing.T, env ...string) doneCheckpoint {
	t.Helper()
	cmd, _ := c.train("")
	cmd.Env = append(cmd.Env, env...)
	return finish(t, cmd)
}

// shown is what `show RUN/UPDATE --json` says of an update of the run.
func (c *crashing) shown(t *testing.T, update int) (s shownUpdate) {
	t.Helper()
	out, err := command("show", fmt.Sprint("jobs/", update), "--json", "--data", c.data).Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// A run whose updates are jobs of their own ends with the bytes of one that the embedded trainer makes; what a job took
// is on the ledger, and what it wrote is shown.
func TestJobsTrainAsTheEmbeddedTrainer(t *testing.T) {
	want := jobRunOf(t, "use: embedded", 2).finish(t)
	c := aJobRun(t, 2)
	if got := c.finish(t); got != want {
		t.Fatalf("ended with %+v, embedded with %+v", got, want)
	}
	s := c.shown(t, 2)
	if s.Job == nil || len(s.Job.Attempts) != 1 || s.Job.Attempts[0].State != "done" || s.Summary.Job == nil || s.Summary.Job.Attempts != 1 || s.Summary.Job.RanSeconds <= 0 ||
		s.Summary.Job.USD != s.Summary.Job.RanSeconds || s.Summary.Job.IdleSeconds <= 0 {
		t.Errorf("update 2: job %+v, used %+v", s.Job, s.Summary.Job)
	}
	if first := c.shown(t, 0); first.Job != nil || first.Summary.Job != nil {
		t.Errorf("update 0 is no job: %+v", first.Job)
	}
	out, err := command("ledger", "jobs", "--update", "2", "--json", "--data", c.data).Output()
	var e ledgerEntry
	if err == nil {
		err = json.Unmarshal(out, &e)
	}
	if err != nil || e.Job == nil || e.USD != e.Job.USD || e.USD != s.Summary.Job.USD {
		t.Errorf("the ledger says %s (%v)", out, err)
	}
}

// victims are what is killed at random: the process that holds everything, the job, and the shell that attends to it.
var victims = []string{"worker", "trainer", "pid"}

// patienceWith is how long a victim lives at most from when it could be killed: a worker takes a while to come to its job.
var patienceWith = map[string]time.Duration{"worker": 3 * time.Second, "trainer": 200 * time.Millisecond, "pid": 200 * time.Millisecond}

// Whatever is killed at random, 20 times, each update is applied once: the run ends with the bytes of an undisturbed one.
func TestJobsKilledAtRandom(t *testing.T) {
	const updates = 5
	whole := aJobRun(t, updates)
	want := whole.ended(t, whole.finish(t))
	n, runs, hit := asked(t, 20), 1, map[string]int{}
	c := aJobRun(t, updates)
	rng := rand.New(rand.NewPCG(6, uint64(n)))
	turn := make([]string, n)
	for i := range turn {
		turn[i] = victims[i%len(victims)]
	}
	rng.Shuffle(n, func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
	for kills := 0; kills < n; {
		cmd, _ := c.train("")
		cmd.Env = append(cmd.Env, "LONGHAUL_JOB_PACE=150ms")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		alive := true
		for alive && kills < n {
			who := turn[kills]
			select {
			case err := <-over:
				if alive = false; err != nil {
					t.Fatalf("the run ended by itself: %v\n%s\n%v", err, out.Bytes(), cmd.Stderr)
				}
			case <-time.After(time.Duration(rng.Int64N(int64(patienceWith[who])))):
				if who == "worker" {
					cmd.Process.Kill()
					<-over
					alive = false
				} else if pids := c.processes(t, who); len(pids) == 0 || syscall.Kill(pids[0], syscall.SIGKILL) != nil {
					continue // no job is under way
				}
				kills++
				hit[who]++
			}
		}
		if alive {
			cmd.Process.Kill()
			<-over
		} else if cmd.ProcessState.Success() { // it was faster: another run takes the rest of the kills
			if got := c.ended(t, doneOf(t, out.Bytes())); got != want {
				t.Fatalf("run %d ends with\n%+v, undisturbed with\n%+v", runs, got, want)
			}
			c, runs = aJobRun(t, updates), runs+1
		}
	}
	if got := c.ended(t, c.finish(t)); got != want {
		t.Fatalf("run %d ends with\n%+v, undisturbed with\n%+v", runs, got, want)
	}
	t.Logf("%d kills in %d runs: %v", n, runs, hit)
	for _, who := range victims {
		if hit[who] < n/10 {
			t.Errorf("%s was killed only %d times of %d", who, hit[who], n)
		}
	}
}

// SIGTERM to a job is answered by exit code 143 and another attempt, which does the update.
func TestJobIsToldToEnd(t *testing.T) {
	want := aJobRun(t, 1).finish(t)
	c := aJobRun(t, 1)
	cmd, _ := c.train("")
	var out bytes.Buffer
	cmd.Stdout = &out
	held, release := hold(t)
	cmd.Env = append(cmd.Env, held)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.until(t, atAStep)
	pid := c.job(t)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for slices.Contains(c.processes(t, "trainer"), pid) { // it stays at its step until it has heard
		time.Sleep(10 * time.Millisecond)
	}
	release()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%v", err, out.Bytes(), cmd.Stderr)
	}
	if got := doneOf(t, out.Bytes()); got != want {
		t.Errorf("ended with %+v, want %+v", got, want)
	}
	a := c.shown(t, 1).Job.Attempts
	if len(a) != 2 || a[0].Exit != launch.ExitPreempted || a[0].State != "lost" || a[1].State != "done" {
		t.Errorf("the attempts were %+v", a)
	}
}

// hold makes jobs stay at their step until release, however long the test takes to look at them. Its first result is for their
// environment.
func hold(t *testing.T) (variable string, release func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hold")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return "LONGHAUL_JOB_HOLD=" + path, func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// atAStep reports whether a job has made a step.
func atAStep(s runStatus) bool {
	return s.Job != nil && s.Progress != nil && s.Progress.What == "steps"
}

// job waits for a job to be at work.
func (c *crashing) job(t *testing.T) int {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if pids := c.processes(t, "trainer"); len(pids) > 0 {
			return pids[0]
		}
	}
	out, err := command("status", "jobs", "--data", c.data).CombinedOutput()
	t.Fatalf("no job begins: %s %v", out, err)
	return 0
}

// until waits for the run to stand so.
func (c *crashing) until(t *testing.T, ok func(runStatus) bool) (s runStatus) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out, err := command("status", "jobs", "--json", "--data", c.data).Output()
		if err == nil && json.Unmarshal(out, &s) == nil && ok(s) {
			return s
		}
	}
	t.Fatalf("the run stands at %+v", s)
	return s
}

// A run that is paused leaves its job to end by itself, and goes on with what it made; one that is cancelled ends once
// its job has, and goes on with another attempt.
func TestPausedAndCancelledJobs(t *testing.T) {
	want := aJobRun(t, 1).finish(t)
	c := aJobRun(t, 1)
	held, release := hold(t)
	start := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, _ := c.train("")
		cmd.Env = append(cmd.Env, held)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &out
	}
	cmd, _ := start()
	pid := c.job(t)
	s := c.until(t, atAStep)
	if s.Job.State != "running" || s.Job.Attempt != 1 || s.Job.Launcher != "local" || s.Job.Identity == "" {
		t.Errorf("the job is %+v", s.Job)
	}
	say := func(what string) {
		t.Helper()
		if b, err := command(what, "jobs", "--data", c.data).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, b)
		}
	}
	say("cancel")
	if now := c.processes(t, "trainer"); len(now) > 0 {
		t.Errorf("the run is cancelled, and process %d runs", pid)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a cancelled run ended well")
	}
	cmd, out := start()
	pid = c.job(t)
	say("pause")
	if now := c.processes(t, "trainer"); len(now) != 1 || now[0] != pid {
		t.Errorf("paused: of process %d %v are left", pid, now)
	}
	release()
	for end := time.Now().Add(3 * time.Minute); len(c.processes(t, "trainer")) > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	say("resume")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%v", err, out, cmd.Stderr)
	}
	if got := doneOf(t, out.Bytes()); got != want {
		t.Errorf("ended with %+v, want %+v", got, want)
	}
	if a := c.shown(t, 1).Job.Attempts; len(a) != 2 || a[0].Exit != launch.ExitPreempted || a[1].State != "done" {
		t.Errorf("the attempts were %+v", a)
	}
}
