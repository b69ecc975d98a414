package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/store"
)

// gc without any grace runs again and again beside a run at work, and is killed at random moments; the process that
// works on the run is killed too. The run ends with the checkpoint of an undisturbed one, and every byte that is left
// verifies.
func TestGCKilledBesideARun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run.yaml")
	_, judge := theJudge()
	yaml := fmt.Sprintf(killedRun, judge) + "checkpoints: {keep_last: 1, keep_best: 1}\n"
	if err := os.WriteFile(file, []byte(strings.Replace(yaml, "updates: 6", "updates: 20", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	train := func(data string) *exec.Cmd {
		return command("train", "-f", file, "--json", "--quiet", "--data", filepath.Join(dir, data))
	}
	want := finish(t, train("undisturbed"))
	left(t, filepath.Join(dir, "undisturbed"), "killed", want)
	data := filepath.Join(dir, "disturbed")
	collect := func() *exec.Cmd { return command("gc", "--grace", "0s", "--json", "--data", data) }
	rng := rand.New(rand.NewPCG(2, 3))
	worker, over := train("disturbed"), make(chan error, 1)
	events, err := os.Create(filepath.Join(dir, "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	done := func() bool {
		b, _ := os.ReadFile(events.Name())
		return bytes.Contains(b, []byte(`{"event":"done"`))
	}
	work := func() {
		worker.Stdout = events
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { over <- worker.Wait() }()
	}
	work()
	defer func() { worker.Process.Kill(); <-over }()
	killed, retired := 0, 0
	for i := 1; len(over) == 0; i++ {
		if i == 4 { // the run goes on from what gc left of it
			worker.Process.Kill()
			<-over
			worker = train("disturbed")
			work()
		}
		if i%3 > 0 { // the next gc takes over what this one leaves
			gc := collect()
			if err := gc.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(150*time.Millisecond + time.Duration(rng.Int64N(int64(250*time.Millisecond))))
			gc.Process.Kill()
			if gc.Wait() != nil {
				killed++
			}
			continue
		}
		out, err := collect().Output()
		var r store.GCReport
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		if err != nil && !done() { // else the process whose store it is ends, or has ended
			t.Errorf("gc: %v %s", err, out)
		}
		retired += r.Freed.Checkpoints
	}
	t.Logf("gc was killed %d times, and retired %d checkpoints while the run was at work", killed, retired)
	if killed == 0 || retired == 0 {
		t.Error("gc did nothing beside the run: the test shows nothing")
	}
	if got := finish(t, train("disturbed")); got != want {
		t.Fatalf("with gc beside it the run ends with %+v, undisturbed with %+v", got, want)
	}
	if out, err := collect().CombinedOutput(); err != nil {
		t.Fatalf("gc at the end: %v\n%s", err, out)
	}
	if out, err := command("verify", "killed", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
}
