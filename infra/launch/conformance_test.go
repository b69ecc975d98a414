package launch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// ground is where a launcher is tried: its jobs do as they are told.
type ground interface {
	// open makes the launcher as another process would, on the same place.
	open(t *testing.T) Launcher
	// end lets the running attempt of a job write "ending" and end: with an exit code, or with -1 as if its machine had
	// been lost.
	end(t *testing.T, job Job, exit int)
	// starts counts the attempts of a job whose process ever was at work.
	starts(t *testing.T, job Job) int
}

// grounds has one for each registered launcher.
var grounds = map[string]func(t *testing.T) ground{}

func aJob(t *testing.T) Job {
	return Job{Run: "Orders_1", Update: 7, Key: strings.Repeat("ab", 32), Spec: "s3://bucket/" + t.Name() + "/jobs/" + strings.Repeat("ab", 32) + "/spec.json", Env: map[string]string{"LONGHAUL_SPEC_URI": "s3://bucket"}}
}

// TestLaunchers holds every launcher to the one contract.
func TestLaunchers(t *testing.T) {
	for _, name := range Names() {
		make, ok := grounds[name]
		if !ok {
			t.Errorf("launcher %s has no ground to be tried on", name)
			continue
		}
		for what, try := range map[string]func(*testing.T, ground){
			"exits": exits, "races": races, "adopted": adopted, "refused": refused, "cancelled": cancelled, "logs": logs,
		} {
			t.Run(name+"/"+what, func(t *testing.T) { try(t, make(t)) })
		}
	}
}

// await polls until the job stands so.
func await(t *testing.T, l Launcher, job Job, attempt int, want State) Status {
	t.Helper()
	var s Status
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s, err = l.Poll(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if s.State == want && s.Attempt == attempt {
			return s
		}
	}
	t.Fatalf("the job is %+v, and not %s in attempt %d", s, want, attempt)
	return s
}

func ensure(t *testing.T, l Launcher, job Job, attempt int) {
	t.Helper()
	if err := l.Ensure(t.Context(), job, attempt); err != nil {
		t.Fatal(err)
	}
}

// began waits until the job's process is at work in its n-th attempt, and checks that it had no more.
func began(t *testing.T, g ground, job Job, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); g.starts(t, job) < n && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := g.starts(t, job); got != n {
		t.Fatalf("%d attempts began, want %d", got, n)
	}
}

// exits: what each way to end means, and that an ended job is started again only for a later attempt.
func exits(t *testing.T, g ground) {
	l, job := g.open(t), aJob(t)
	if s, err := l.Poll(t.Context(), job); err != nil || s.State != Absent || s.Attempt != 0 || s.Ended() {
		t.Fatalf("before it was ever asked for it is %+v, %v", s, err)
	}
	for i, c := range []struct {
		exit int
		want State
		code int
	}{{ExitRetry, Lost, ExitRetry}, {ExitPermanent, Failed, ExitPermanent}, {-1, Lost, -1}, {1, Lost, 1}, {ExitDone, Done, 0}} {
		n := i + 1
		ensure(t, l, job, n)
		if s := await(t, l, job, n, Running); s.Identity == "" || s.Ended() {
			t.Errorf("attempt %d: %+v", n, s)
		}
		ensure(t, l, job, n+1) // it is not over: the next has to wait
		began(t, g, job, n)
		g.end(t, job, c.exit)
		s := await(t, l, job, n, c.want)
		if s.Exit != c.code && s.Exit != -1 || !s.Ended() || s.Ran < 0 || c.want != Done && s.Why == "" {
			t.Errorf("attempt %d, ended by %d: %+v", n, c.exit, s)
		}
		ensure(t, l, job, n)
		if s := await(t, l, job, n, c.want); s.Attempt != n {
			t.Errorf("asked for attempt %d once more it is %+v", n, s)
		}
		began(t, g, job, n)
	}
}

// races: of eight launchers that start a job at once, one does; and so when an attempt was lost.
func races(t *testing.T, g ground) {
	job := aJob(t)
	for attempt := 1; attempt <= 2; attempt++ {
		var all sync.WaitGroup
		errs := make(chan error, 8)
		for range cap(errs) {
			l := g.open(t)
			all.Go(func() { errs <- l.Ensure(t.Context(), job, attempt) })
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		await(t, g.open(t), job, attempt, Running)
		began(t, g, job, attempt)
		g.end(t, job, ExitRetry)
		await(t, g.open(t), job, attempt, Lost)
	}
}

// adopted: another process finds the job, running and ended.
func adopted(t *testing.T, g ground) {
	job := aJob(t)
	ensure(t, g.open(t), job, 1)
	l := g.open(t)
	await(t, l, job, 1, Running)
	began(t, g, job, 1)
	ensure(t, l, job, 1)
	g.end(t, job, ExitDone)
	await(t, g.open(t), job, 1, Done)
	began(t, g, job, 1)
}

// refused: a job of the same name with another spec is not taken for this one.
func refused(t *testing.T, g ground) {
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	began(t, g, job, 1)
	g.end(t, job, ExitDone)
	await(t, l, job, 1, Done)
	other := job
	other.Key = strings.Repeat("cd", 32)
	if err := l.Ensure(t.Context(), other, 2); rl.KindOf(err) != rl.Conflict {
		t.Errorf("another spec under the name %s: %v", job.Name(), err)
	}
}

// cancelled: Cancel returns once the job is over, and may be asked of one that is not there.
func cancelled(t *testing.T, g ground) {
	l, job := g.open(t), aJob(t)
	if err := l.Cancel(t.Context(), job); err != nil {
		t.Errorf("cancelling what is not there: %v", err)
	}
	ensure(t, l, job, 1)
	began(t, g, job, 1)
	if err := g.open(t).Cancel(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Poll(t.Context(), job); err != nil || s.State != Lost && s.State != Absent {
		t.Errorf("cancelled it is %+v, %v", s, err)
	}
	if err := l.Cancel(t.Context(), job); err != nil {
		t.Errorf("cancelling it again: %v", err)
	}
	ensure(t, l, job, 2)
	began(t, g, job, 2)
	g.end(t, job, ExitDone)
	await(t, l, job, 2, Done)
}

// logs: what an attempt wrote can be read, also when it is over.
func logs(t *testing.T, g ground) {
	l, job := g.open(t), aJob(t)
	if _, err := l.Logs(t.Context(), job); rl.KindOf(err) != rl.NotFound {
		t.Errorf("logs of what is not there: %v", err)
	}
	ensure(t, l, job, 1)
	began(t, g, job, 1)
	g.end(t, job, ExitDone)
	await(t, l, job, 1, Done)
	r, err := l.Logs(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || !strings.Contains(string(b), "ending") {
		t.Errorf("the log says %q, %v", b, err)
	}
}

func TestNames(t *testing.T) {
	job := aJob(t)
	for run, want := range map[rl.RunID]string{
		"orders-1": "lh-orders-1-00000007-3461807171f000f7", "A_B.c": "lh-a-b-c-00000007-3461807171f000f7", "-": "lh-00000007-3461807171f000f7",
		rl.RunID(strings.Repeat("x", 63)): "lh-" + strings.Repeat("x", 34) + "-00000007-3461807171f000f7",
	} {
		job.Run = run
		if got := job.Name(); got != want || len(got) > nameLimit {
			t.Errorf("%s: %s, want %s", run, got, want)
		}
	}
	other := job
	other.Spec = fmt.Sprint(job.Spec, "x")
	if other.Name() == job.Name() {
		t.Error("two stores have one name")
	}
}

func TestOpenNamesWhatThereIs(t *testing.T) {
	if _, err := Open(rl.UpdateConfig{Use: "slurm"}, Host{}); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), "local") {
		t.Error(err)
	}
}
