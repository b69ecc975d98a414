package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// killedRun warms up for a moment and makes enough updates to be killed in all stages.
const killedRun = `name: killed
env: {use: orders}
policy: {width: 32, layers: 1, hidden: 64}
warm_up: {gate: 0.6, extra: 20, batch: 16, learning_rate: 5e-3}
group: {size: 8, per_update: 16, per_activity: 8}
update: {minibatches: 2}
updates: 6
eval: {every: 3, tasks: 10}
`

// kills is how often the run is killed. `make crash` asks for more by LONGHAUL_KILLS.
const kills = 8

// A run that is killed again and again, at random moments, goes on each time it is started, and ends with the
// checkpoint of an undisturbed run. Interrupted once more, it says so by its exit code; every byte of it verifies.
func TestKilledRunEndsTheSame(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run.yaml")
	if err := os.WriteFile(file, []byte(killedRun), 0o644); err != nil {
		t.Fatal(err)
	}
	train := func(data string) *exec.Cmd {
		return command("train", "-f", file, "--json", "--quiet", "--data", filepath.Join(dir, data))
	}
	want := finish(t, train("undisturbed"))
	n := kills
	if s := os.Getenv("LONGHAUL_KILLS"); s != "" {
		if err := json.Unmarshal([]byte(s), &n); err != nil {
			t.Fatalf("LONGHAUL_KILLS: %v", err)
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		signal := syscall.SIGKILL
		if i == n/2 {
			signal = syscall.SIGINT
		}
		after := 300*time.Millisecond + time.Duration(rng.Int64N(int64(4*time.Second)))
		cmd := train("killed")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		cmd.Process.Signal(signal)
		err := cmd.Wait()
		t.Logf("kill %d: %v after %v: %v", i+1, signal, after, err)
		if code := cmd.ProcessState.ExitCode(); signal == syscall.SIGINT && code != exitInterrupted && code != exitDone {
			t.Errorf("interrupted: exit code %d, want %d", code, exitInterrupted)
		}
	}
	if got := finish(t, train("killed")); got != want {
		t.Fatalf("killed %d times the run ends with %+v, undisturbed with %+v", n, got, want)
	}
	verify := command("verify", "killed", "--data", filepath.Join(dir, "killed"))
	if out, err := verify.CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
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
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var d doneEvent
	if err := json.Unmarshal(lines[len(lines)-1], &d); err != nil || d.Event != "done" {
		t.Fatalf("the last line is %s (%v)", lines[len(lines)-1], err)
	}
	return d.Checkpoint
}
