package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Two programs have two places each; episodes are spread over both, and a fifth waits until one leaves.
func TestPlaces(t *testing.T) {
	w, inside := opened(t, the(python, 2, 2))
	var all []envs.Env
	for i := range 4 {
		all = append(all, w.New())
		begin(t, all[i], w.Task(rl.Train, i))
	}
	for i, s := range inside.pool.slots {
		if s.live != 2 || s.program == nil {
			t.Errorf("slot %d has %d episodes", i, s.live)
		}
	}
	fifth := w.New()
	defer fifth.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := fifth.Reset(ctx, w.Task(rl.Train, 4)); err == nil || err.Error() != "environment process: all 4 places (env.process.processes x episodes) are taken: context deadline exceeded" {
		t.Error(err)
	}
	left := make(chan bool)
	time.AfterFunc(50*time.Millisecond, func() {
		all[2].Close()
		close(left)
	})
	begin(t, fifth, w.Task(rl.Train, 4))
	<-left
	for _, e := range all {
		e.Close()
	}
}

// Episodes of one program do not mix, and one that crashes it takes the others with it, which begin again in the next.
func TestEpisodesShareAProgram(t *testing.T) {
	w, inside := opened(t, the(python, 1, 8))
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			e, task := w.New(), w.Task(rl.Train, i)
			defer e.Close()
			if _, err := e.Reset(t.Context(), task); err != nil {
				t.Error(err)
				return
			}
			action := w.Reference(task)(nil).ToolCalls[0]
			if _, err := step(t.Context(), e, "guess", `{"number":0}`); err != nil {
				t.Error(err)
			}
			if r, err := step(t.Context(), e, action.Name, string(action.Arguments)); err != nil || r.Content != "right" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	first, second := w.New(), w.New()
	defer first.Close()
	defer second.Close()
	begin(t, first, w.Task(rl.Train, 0))
	begin(t, second, w.Task(rl.Train, 1))
	inside.pool.slots[0].program.child.Kill()
	for _, e := range []envs.Env{first, second} {
		if _, err := step(t.Context(), e, "guess", `{"number":1}`); rl.KindOf(err) != rl.Unavailable || !strings.HasPrefix(err.Error(), "environment process: step: it has ended: signal: killed") {
			t.Error(err)
		}
		begin(t, e, w.Task(rl.Train, 0))
		mustStep(t, e, "guess", `{"number":1}`)
	}
}

// A program without episodes is stopped after a while, and started again for the next.
func TestIdleProgramsRest(t *testing.T) {
	w, inside := opened(t, the(python, 1, 1))
	e := w.New()
	begin(t, e, w.Task(rl.Train, 0))
	s := inside.pool.slots[0]
	was := s.program
	inside.pool.rest(s) // has an episode
	mustStep(t, e, "guess", `{"number":1}`)
	e.Close()
	inside.pool.empty()
	inside.pool.rest(s)
	<-was.gone
	if was.why.Error() != "it has ended, with status 0" {
		t.Error(was.why)
	}
	begin(t, e, w.Task(rl.Train, 0))
	defer e.Close()
}

// The first program, which told what the world is, is stopped like others where no episode comes, and a question for a reference
// is none.
func TestTheFirstProgramRests(t *testing.T) {
	w, inside := opened(t, the(python, 1, 1))
	s := inside.pool.slots[0]
	was := s.program
	if s.still == nil {
		t.Fatal("nothing will stop it")
	}
	w.Reference(w.Task(rl.Train, 0))
	if s.live != 0 || s.visits != 0 {
		t.Errorf("%d episodes, %d visits", s.live, s.visits)
	}
	inside.pool.rest(s)
	<-was.gone
}

// A program that is slow to start has env.process.start_timeout for it in mid-run, too: an episode that gives up leaves it to
// the next.
func TestStartsAreNobodysInParticular(t *testing.T) {
	dir := t.TempDir()
	starts, slowly := filepath.Join(dir, "starts"), filepath.Join(dir, "slowly")
	w, inside := opened(t, the("echo >> '"+starts+"'; while test -e '"+slowly+"'; do sleep 0.02; done; "+python, 1, 1))
	if err := os.WriteFile(slowly, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	inside.pool.rest(inside.pool.slots[0])
	e := w.New()
	defer e.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if b, _ := os.ReadFile(starts); len(b) == 2 { // the next one is under way
				cancel(context.DeadlineExceeded)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := e.Reset(ctx, w.Task(rl.Train, 0)); err == nil || err.Error() != "environment process: the program is being started: context deadline exceeded" {
		t.Error(err)
	}
	if err := os.Remove(slowly); err != nil {
		t.Fatal(err)
	}
	begin(t, e, w.Task(rl.Train, 0))
	if b, err := os.ReadFile(starts); err != nil || len(b) != 2 {
		t.Errorf("%d starts, %v", len(b), err)
	}
}

// alive reports whether a process runs: one that is only waited for does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func vanish(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if alive(pid) {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d processes are left", left, len(pids))
		}
	}
}

// family opens a world whose program has a child, and one that has left the group; none ends by itself. Their numbers.
func family(t testing.TB) (w envs.World, inside *world, pids []int) {
	w, inside = opened(t, the(faulty("family"), 1, 1))
	for _, word := range strings.Fields(w.New().Spec().System) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return w, inside, pids
}

func TestStopEndsAll(t *testing.T) {
	_, inside, pids := family(t)
	inside.pool.end(t)
	vanish(t, pids)
}

// However this process ends, its programs and their children end with it; what has left the group does when the next process begins
// to have children.
func TestNothingIsLeftAfterAKill(t *testing.T) {
	if os.Getenv("LONGHAUL_TEST_FAMILY") != "" {
		w, _, pids := family(t)
		begin(t, w.New(), w.Task(rl.Train, 0))
		fmt.Println("family", pids)
		select {}
	}
	worker := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeftAfterAKill$")
	worker.Env = append(os.Environ(), "LONGHAUL_TEST_FAMILY=1")
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); pids == nil && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "family ["); ok {
			for _, word := range strings.Fields(strings.TrimSuffix(rest, "]")) {
				pid, _ := strconv.Atoi(word)
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) != 3 || !alive(pids[0]) || !alive(pids[1]) || !alive(pids[2]) {
		t.Fatal(pids)
	}
	worker.Process.Kill()
	worker.Wait()
	vanish(t, pids[:2])
	syscall.Kill(pids[2], syscall.SIGKILL) // package child's own tests sweep
}
