// Curves trains the demo's task with many settings, on seeds that were fixed beforehand, and keeps what came of it:
//
//	go run ./scripts/curves                 # estimators x losses
//	go run ./scripts/curves -set judge      # a noisy judge, and what each of its remedies is worth
//
// Every run is one file in docs/results/SET, written when the run is done; a run that has its file is not made again, so this
// can be interrupted and goes on, and no run is left out. All runs of a seed begin from one warm-up. The table and the picture are
// made from the files, whichever there are; -draw makes only these.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// setting is one way to train: what its run.yaml has beside the usual.
type setting struct {
	name string
	yaml string
}

// set is settings that are compared.
type set struct {
	seeds    []int
	judged   bool // by a simulated judge, whose URL takes the place of %s
	settings []setting
}

var sets = map[string]set{
	"estimators": {seeds: []int{301, 302, 303, 304, 305}, settings: crossed([]string{"grpo", "dr_grpo", "rloo", "max_rl"}, []string{"ppo", "cispo", "gspo"})},
	"judge": {seeds: []int{401, 402, 403}, judged: true, settings: []setting{
		{"exact reward", "updates: 50\nreward: {use: exact}"},
		{"judge", "updates: 75\nreward: {use: judge, model: m, url: %s}"},
		{"not shuffled", "updates: 50\nreward: {use: judge, model: m, url: %s, order: fixed}"},
		{"ties forced", "updates: 50\nreward: {use: judge, model: m, url: %s, ties: forced}"},
		{"one pass", "updates: 50\nreward: {use: judge, model: m, url: %s, passes: 1}"},
		{"no dead band", "updates: 50\nreward: {use: judge, model: m, url: %s, dead_band: 0}"},
	}},
}

func crossed(advantages, losses []string) (out []setting) {
	for _, a := range advantages {
		for _, l := range losses {
			out = append(out, setting{a + " x " + l, fmt.Sprintf("updates: 20\nadvantage: {use: %s}\nloss: {use: %s}", a, l)})
		}
	}
	return out
}

func main() {
	name := flag.String("set", "estimators", "estimators or judge")
	binary := flag.String("longhaul", "bin/longhaul", "the binary")
	work := flag.String("work", ".longhaul/curves", "where the runs are made")
	jobs := flag.Int("jobs", 2, "runs at once, a thread each")
	listen := flag.String("judge", "127.0.0.1:8077", "where the simulated judge listens: its address is part of a run's configuration")
	only := flag.Int("seed", 0, "make the runs of this seed alone; 0: of all")
	draw := flag.Bool("draw", false, "make the table and the picture alone")
	flag.Parse()
	s, ok := sets[*name]
	if !ok {
		log.Fatalf("there is no set %q", *name)
	}
	dir := filepath.Join("docs/results", *name)
	asked := s
	if *only != 0 {
		asked.seeds = []int{*only}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	if !*draw {
		if err := asked.make(*binary, filepath.Join(*work, *name), dir, *listen, *jobs); err != nil {
			log.Fatal(err)
		}
	}
	if err := s.show(*name, dir); err != nil {
		log.Fatal(err)
	}
}

// make makes the runs that have no file yet: seeds side by side, the settings of a seed one after another.
func (s set) make(binary, work, dir, listen string, jobs int) error {
	judge := ""
	if s.judged {
		url, stop, err := simulated(binary, listen)
		if err != nil {
			return err
		}
		defer stop()
		judge = url
	}
	var wg sync.WaitGroup
	turn, errs := make(chan bool, jobs), make([]error, len(s.seeds))
	for i, seed := range s.seeds {
		wg.Go(func() {
			turn <- true
			defer func() { <-turn }()
			errs[i] = s.seed(binary, filepath.Join(work, fmt.Sprint(seed)), dir, judge, seed)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// seed makes the runs of one seed.
func (s set) seed(binary, data, dir, judge string, seed int) error {
	for _, w := range s.settings {
		file := filepath.Join(dir, fileName(w.name, seed))
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := warmUp(binary, data, seed); err != nil {
			return err
		}
		yaml := strings.ReplaceAll(w.yaml, "%s", judge)
		if err := train(binary, data, file, w.name, yaml, seed); err != nil {
			return fmt.Errorf("%s, seed %d: %w", w.name, seed, err)
		}
	}
	return nil
}
