package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// The process whose servers an evaluation uses is killed under it: the evaluation goes on by itself, and plays every task.
func TestAnEvaluationOutlivesTheHolder(t *testing.T) {
	dir := t.TempDir()
	file, data := filepath.Join(dir, "run.yaml"), filepath.Join(dir, "data")
	_, judge := theJudge()
	yaml := strings.Replace(fmt.Sprintf(killedRun, judge), "every: 3, tasks: 10", "every: 0, tasks: 40", 1)
	if err := os.WriteFile(file, []byte(strings.Replace(yaml, "updates: 6", "updates: 1000", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	train := command("train", "-f", file, "--quiet", "--data", data)
	train.Env = append(train.Env, "LONGHAUL_FAULTS=PUT /evals/.*/journal/ 5 kill-after")
	if err := train.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { train.Process.Kill(); train.Wait() }()
	for command("show", "killed@0", "--data", data).Run() != nil {
		time.Sleep(200 * time.Millisecond)
	}
	eval := command("eval", "killed@0", "--json", "--data", data)
	var out, said strings.Builder
	eval.Stdout, eval.Stderr = &out, &said
	err := eval.Run()
	var e rl.Evaluation
	if err != nil || json.Unmarshal([]byte(out.String()), &e) != nil || e.Greedy.Of != 40 || e.Sampled.Of != 40 {
		t.Errorf("%v: %s%s", err, out.String(), said.String())
	}
	if !strings.Contains(said.String(), "has ended; its work goes on with the next that does") {
		t.Errorf("it did not outlive anybody: %s", said.String())
	}
}
