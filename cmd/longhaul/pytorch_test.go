//go:build linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/launch"
)

// The order desk, trained by PyTorch in jobs of their own and played by the embedded policy, which takes each checkpoint
// from them: it learns as with the embedded trainer, and the ledgers are the same. One job is told to end in mid-update.
// LONGHAUL_TEST_PYTHON names a Python with what trainer/requirements.txt lists (make test makes one).
func TestPyTorchTrainsTheOrderDesk(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with torch and transformers; make test makes one")
	}
	trainer, err := filepath.Abs("../../trainer")
	if err != nil {
		t.Fatal(err)
	}
	const updates = 2
	embedded := jobRunOf(t, "use: embedded", updates)
	embedded.finish(t)
	c := jobRunOf(t, fmt.Sprintf("use: local, local: {python: %q}", python), updates)
	cmd, _ := c.train("")
	cmd.Env = append(cmd.Env, "PYTHONPATH="+trainer)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := c.until(t, func(s runStatus) bool { return s.Job != nil && s.Progress != nil && s.Progress.What != "updates" })
	t.Logf("told to end at %+v", *s.Progress)
	for _, pid := range c.processes(t, "pid") {
		if err := syscall.Kill(-pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case err = <-over:
	case <-time.After(5 * time.Minute):
		cmd.Process.Kill()
		err = <-over
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%v", err, out.Bytes(), cmd.Stderr)
	}
	if a := c.shown(t, 1).Job.Attempts; len(a) != 2 || a[0].Exit != launch.ExitPreempted || a[1].State != "done" {
		t.Errorf("the attempts were %+v", a)
	}
	for n := 1; n <= updates; n++ {
		ours, theirs := embedded.shown(t, n), c.shown(t, n)
		if a, b := ours.Ledger, theirs.Ledger; a.Asked != b.Asked || a.Trained != b.Trained || a.Tokens != b.Tokens || !maps.Equal(a.LeftOut, b.LeftOut) || !b.Balanced {
			t.Errorf("update %d: its ledger says %+v, and embedded %+v", n, b, a)
		}
		for name, want := range ours.Summary.Metrics {
			if got, ok := theirs.Summary.Metrics[name]; !ok || !(math.Abs(got-want) <= 1e-4*max(1, math.Abs(want))) {
				t.Errorf("update %d: %s is %v, embedded %v", n, name, got, want)
			}
		}
	}
	if out, err := command("verify", "jobs", "--data", c.data).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}
