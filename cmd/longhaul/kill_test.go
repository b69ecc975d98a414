package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/infra/simjudge"
	"github.com/longhaul-rl/longhaul/rl"
)

// killedRun warms up for a moment and makes enough updates to be killed in all stages. It is judged over HTTP.
const killedRun = `name: killed
env: {use: orders}
policy: {width: 32, layers: 1, hidden: 64}
warm_up: {gate: 0.6, extra: 20, batch: 16, learning_rate: 5e-3}
group: {size: 8, per_update: 16, per_activity: 8}
update: {minibatches: 2}
updates: 6
eval: {every: 3, tasks: 10}
reward: {use: judge, model: simulated-judge, timeout: 20s, url: %s/v1}
`

// theJudge judges all killed runs from outside of their processes. It takes a while for each answer, so that kills meet it at
// work, and is paid once for a key.
var theJudge = sync.OnceValues(func() (*simjudge.Judge, string) {
	j, err := simjudge.New(context.Background(), simjudge.Options{World: "orders", Tasks: rl.TaskRange{Last: 9999}, Noise: .15, Bias: .1, Delay: 20 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	return j, httptest.NewServer(j).URL
})

// kills is how often the run is killed at random. `make crash` asks for more by LONGHAUL_KILLS.
const kills = 8

// asked is how many kills a test makes: so many, or a share of LONGHAUL_KILLS.
func asked(t *testing.T, usual int) int {
	t.Helper()
	s := os.Getenv("LONGHAUL_KILLS")
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("LONGHAUL_KILLS: %q is not a number of kills", s)
	}
	return max(1, n*usual/kills)
}

// crashing is a run that is started again and again on one data directory.
type crashing struct {
	file, data string
	restarts   []float64 // seconds from a start to the first new turn
}

func newCrashing(t *testing.T) *crashing {
	dir := t.TempDir()
	c := &crashing{filepath.Join(dir, "run.yaml"), filepath.Join(dir, "data"), nil}
	_, judge := theJudge()
	if err := os.WriteFile(c.file, fmt.Appendf(nil, killedRun, judge), 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

// train is the command that goes on with the run, with faults before its store.
func (c *crashing) train(faults string) (*exec.Cmd, *bytes.Buffer) {
	cmd := command("train", "-f", c.file, "--json", "--quiet", "--data", c.data)
	cmd.Env = append(cmd.Env, "LONGHAUL_FAULTS="+faults+"\nPUT /journal/ 1 say")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	return cmd, &errs
}

var firstTurn = regexp.MustCompile(`faults: PUT \S+/journal/\S+ after ([0-9.]+) s`)

// noted keeps how long it took to the first new turn, if one was taken.
func (c *crashing) noted(errs *bytes.Buffer) {
	if m := firstTurn.FindSubmatch(errs.Bytes()); m != nil {
		if s, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
			c.restarts = append(c.restarts, s)
		}
	}
}

// held waits until a process holds the data directory.
func (c *crashing) held(by *exec.Cmd) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if p, ok, err := dev.Attach(c.data); ok && err == nil && p.PID == by.Process.Pid {
			return
		}
	}
}

// end runs to the end and reports what is left; the run must verify.
func (c *crashing) end(t *testing.T) remains {
	t.Helper()
	cmd, _ := c.train("")
	done := finish(t, cmd)
	if out, err := command("verify", "killed", "--data", c.data).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
	if len(c.restarts) > 0 {
		slices.Sort(c.restarts)
		t.Logf("from a start to the first new turn: median %.2f s of %d, at most %.2f s", c.restarts[len(c.restarts)/2], len(c.restarts), c.restarts[len(c.restarts)-1])
	}
	got := left(t, c.data, "killed", done)
	// Killed or not, runs put the same questions, and each that was ever put is on record: it was paid for once.
	judge, _ := theJudge()
	stats := judge.Stats()
	t.Logf("the judge was asked %d times and paid %d times; %d answers are on record", stats.Asked, stats.Paid, len(answered))
	if stats.Paid != len(answered) || len(answered) == 0 {
		t.Errorf("paid for %d answers, %d are on record", stats.Paid, len(answered))
	}
	return got
}

// A run that is killed again and again, at random moments, goes on each time it is started, and ends (one that ends
// before all the kills is followed by another) with the checkpoint, trajectories, scores, batches and ledgers of an undisturbed run; no recorded turn is taken twice.
// Interrupted once more, it says so by its exit code; every byte of it verifies.
func TestKilledRunEndsTheSame(t *testing.T) {
	want := newCrashing(t).end(t)
	c, n, runs := newCrashing(t), asked(t, kills), 1
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for i := 0; i < n; {
		signal := syscall.SIGKILL
		if i == n/2 {
			signal = syscall.SIGINT
		}
		cmd, errs := c.train("")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300*time.Millisecond + time.Duration(rng.Int64N(int64(3*time.Second))))
		if signal == syscall.SIGINT { // which it answers once it is at work
			c.held(cmd)
		}
		cmd.Process.Signal(signal)
		err := cmd.Wait()
		c.noted(errs)
		switch code := cmd.ProcessState.ExitCode(); {
		case err == nil: // it was faster: the next one is killed instead
			if got := c.end(t); got != want {
				t.Fatalf("run %d, after %d kills, ends with\n%+v, undisturbed with\n%+v", runs, i, got, want)
			}
			c, runs = newCrashing(t), runs+1
			continue
		case signal == syscall.SIGINT && code != exitInterrupted:
			t.Errorf("interrupted: exit code %d, want %d", code, exitInterrupted)
		}
		i++
	}
	if got := c.end(t); got != want {
		t.Fatalf("run %d, after %d kills, ends with\n%+v, undisturbed with\n%+v", runs, n, got, want)
	}
	t.Logf("%d kills in %d runs", n, runs)
}

// killPoints are the moments at which a process dies, in the order in which a run comes to them.
var killPoints = []struct{ name, rule string }{
	{"warm-up recorded, not told", `PUT ^/[^?]*jobs/.*/result.json 1 kill-after`},
	{"an evaluation's turn", `PUT /evals/.*/journal/ 1 kill-after`},
	{"an evaluation's result", `PUT /evaluation.json 1 kill-before`},
	{"mid-turn: sampled, not committed", `PUT /updates/.*/journal/ 3 kill-before`},
	{"between turns: committed, not acted on", `PUT /updates/.*/journal/ 5 kill-after`},
	{"an episode played, not stored", `PUT /episodes/ 2 kill-before`},
	{"an episode stored, not told", `PUT /episodes/ 2 kill-after`},
	{"mid-judge: answered, not recorded", `PUT /judge/ 2 kill-before`},
	{"mid-judge: recorded, not settled", `PUT /judge/ 2 kill-after`},
	{"judged, not recorded", `PUT /scores.json 2 kill-before`},
	{"judged, not told", `PUT /scores.json 2 kill-after`},
	{"mid-batch: the ledger without its batch", `PUT /ledger.json 1 kill-after`},
	{"the batch, not told", `PUT /batch.safetensors 1 kill-after`},
	{"mid-update: the job has its batch", `GET /batch.safetensors 1 kill-after`},
	{"mid-chunk", `PUT /cas/ 2 kill-before`},
	{"after the update, before its checkpoint", `PUT /result.json 1 kill-after`},
	{"before the manifest", `PUT /ckpt/ 1 kill-before`},
	{"between manifest and pointer", `PUT /ckpt/ 1 kill-after`},
	{"the pointer moved, not told", `PUT /latest 1 kill-after`},
	{"mid-publish", `PUT /summary.json 1 kill-before`},
	{"published, not told", `PUT /summary.json 1 kill-after`},
	{"the best moved, not told", `PUT /best 1 kill-after`},
}

// At each named point the process dies once, one after another in one run.
func TestKilledAtNamedPoints(t *testing.T) {
	want := newCrashing(t).end(t)
	c := newCrashing(t)
	for _, p := range killPoints {
		cmd, errs := c.train(p.rule)
		out, err := cmd.Output()
		c.noted(errs)
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: the process was not killed: %v\n%s%s", p.name, err, out, errs)
		}
	}
	if got := c.end(t); got != want {
		t.Fatalf("killed at %d points the run ends with\n%+v, undisturbed with\n%+v", len(killPoints), got, want)
	}
}

// A store that answers 500 to a third of the requests and loses the answers of others costs time, and nothing else.
func TestFaultyStore(t *testing.T) {
	want := newCrashing(t).end(t)
	c := newCrashing(t)
	cmd, _ := c.train("PUT . 5% lost\nGET . 30% 500\nPUT . 30% 500\n")
	finish(t, cmd)
	if got := c.end(t); got != want {
		t.Fatalf("the run ends with\n%+v, undisturbed with\n%+v", got, want)
	}
}

// command is this test binary as the longhaul command.
func command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"longhaul"}, args...), Env: append(os.Environ(), "LONGHAUL_THREADS=2")}
}

// finish runs a training command to its end and returns the checkpoint of its `done` event.
func finish(t *testing.T, cmd *exec.Cmd) doneCheckpoint {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%v", err, out, cmd.Stderr)
	}
	return doneOf(t, out)
}

// doneOf is the checkpoint of the last event of a training command.
func doneOf(t *testing.T, out []byte) doneCheckpoint {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var d doneEvent
	if err := json.Unmarshal(lines[len(lines)-1], &d); err != nil || d.Event != "done" {
		t.Fatalf("the last line is %s (%v)", lines[len(lines)-1], err)
	}
	return d.Checkpoint
}

// remains is what a finished run leaves that must not depend on what happened to it.
type remains struct {
	Checkpoint doneCheckpoint
	Objects    int    // trajectories, scores, batches, ledgers, evaluations, manifests
	Digest     string // of their keys and bytes
	Twice      int    // turns that are on record more than once: taken again although they were committed
}

func (r remains) String() string {
	return fmt.Sprintf("%s %.12s, %d objects of digest %.12s, %d turns twice", r.Checkpoint.Version, r.Checkpoint.SHA256, r.Objects, r.Digest, r.Twice)
}
