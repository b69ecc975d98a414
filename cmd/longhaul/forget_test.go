package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const smallDemo = `name: NAME
env: {use: orders, max_turns: 4, tasks: {train: 0-50, eval: 0-1}}
policy: {width: 32, layers: 1, hidden: 32}
warm_up: {max: 2, extra: 1, batch: 4}
group: {size: 2, per_update: 2}
sampling: {seed: SEED}
updates: 1
eval: {every: 1}
`

// What is forgotten leaves nothing that the next run of the name trips over, and other runs alone.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	train := func(name string, seed int) doneCheckpoint {
		file := filepath.Join(dir, name+".yaml")
		src := strings.NewReplacer("NAME", name, "SEED", strconv.Itoa(seed)).Replace(smallDemo)
		if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		return finish(t, command("train", "-f", file, "--json", "--quiet", "--data", data))
	}
	verify := func(name string) {
		t.Helper()
		if out, err := command("verify", name, "--data", data).CombinedOutput(); err != nil {
			t.Errorf("verify %s: %v\n%s", name, err, out)
		}
	}
	var said bytes.Buffer
	a := &app{data: data, usual: ".longhaul", patience: patience, log: slog.New(slog.DiscardHandler), getenv: func(string) string { return "" },
		out: &output{stdout: &said, stderr: &said, width: plainWidth}}
	if err := a.forget(t.Context(), demoRun); err != nil {
		t.Errorf("nothing to forget: %v", err)
	}
	first := train("demo", 1)
	train("other", 1)
	if err := a.forget(t.Context(), demoRun); err != nil {
		t.Fatal(err)
	}
	c, err := a.connect(t.Context(), want{})
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for o, err := range c.Store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(o.Key, "runs/demo/") {
			t.Errorf("%s is left", o.Key)
		}
		if strings.HasPrefix(o.Key, "jobs/") {
			jobs++
		}
	}
	c.Close()
	if jobs != 4 { // two updates of the other run, a spec and a result each
		t.Errorf("%d objects of jobs are left, want 4", jobs)
	}
	if again := train("demo", 2); again == first {
		t.Errorf("another seed ends with the same checkpoint %+v", again)
	}
	verify("demo")
	verify("other")
}

func TestDemoSettings(t *testing.T) {
	usual, err := new(app).demoConfig(t.Context(), demoFlags{})
	if err != nil || usual.Sampling.Seed != 1 || usual.Updates != 40 || usual.Name != demoRun {
		t.Errorf("%+v, %v", usual, err)
	}
	zero, none := uint64(0), 0
	asked, err := new(app).demoConfig(t.Context(), demoFlags{seed: &zero, updates: &none})
	if err != nil || asked.Sampling.Seed != 0 || asked.Updates != 0 {
		t.Errorf("seed %d, updates %d, %v; want 0 and 0", asked.Sampling.Seed, asked.Updates, err)
	}
	empty := ""
	if _, err := new(app).demoConfig(t.Context(), demoFlags{reward: &empty}); exitCode(t.Context(), err) != exitUsage {
		t.Errorf("--reward '': %v", err)
	}
}
