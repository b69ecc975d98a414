package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// result is what is kept of a run.
type result struct {
	Setting string    `json:"setting"`
	Seed    int       `json:"seed"`
	YAML    string    `json:"yaml"`    // what the run's configuration has beside the usual
	Success []float64 `json:"success"` // of the episodes of updates 1, 2, ...
	Before  play      `json:"before"`  // held out
	After   play      `json:"after"`
	Seconds float64   `json:"seconds"`
}

type play struct {
	Greedy  float64 `json:"greedy"`
	Sampled float64 `json:"sampled"`
}

// success is the lower of the two ways of play.
func (p play) success() float64 { return min(p.Greedy, p.Sampled) }

// event is a line of `longhaul train --json`, as far as it is kept.
type event struct {
	Event   string  `json:"event"`
	Update  int     `json:"update"`
	Success float64 `json:"success"`
	Heldout struct {
		Before play `json:"before_play"`
		After  play `json:"after_play"`
	} `json:"heldout"`
	WallSeconds float64 `json:"wall_seconds"`
}

func fileName(setting string, seed int) string {
	return fmt.Sprintf("%s-%d.json", strings.NewReplacer(" ", "_", ",", "").Replace(setting), seed)
}

// common is what all runs of a seed share; the rest is what `longhaul init` writes.
func common(name string, seed int) string {
	return fmt.Sprintf("name: %s\nenv: {use: orders}\nsampling: {seed: %d}\n", name, seed)
}

// warmUp makes the version that all runs of a seed begin from.
func warmUp(binary, data string, seed int) error {
	_, err := events(binary, data, common("warm", seed)+"updates: 0\neval: {every: 0}\n")
	return err
}

// train makes one run and keeps what came of it in file.
func train(binary, data, file, setting, yaml string, seed int) error {
	name := strings.NewReplacer(" ", "-", "_", "-", ",", "").Replace(setting)
	all, err := events(binary, data, common(name, seed)+"from: warm@000000\nwarm_up: {max: 0}\n"+yaml+"\n")
	if err != nil {
		return err
	}
	r := result{Setting: setting, Seed: seed, YAML: yaml}
	for _, e := range all {
		if e.Event == "update" && e.Update > 0 {
			r.Success = append(r.Success, e.Success)
		}
	}
	last := all[len(all)-1]
	r.Before, r.After, r.Seconds = last.Heldout.Before, last.Heldout.After, last.WallSeconds
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	log.Printf("%s, seed %d: %.3f -> %.3f in %.0f s", setting, seed, r.Before.success(), r.After.success(), r.Seconds)
	if err := os.WriteFile(file+".part", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// events runs `longhaul train` to its end.
func events(binary, data, yaml string) (all []event, err error) {
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(data, "run.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "train", "-f", file, "--json", "--quiet", "--data", filepath.Join(data, "data"))
	cmd.Env = append(os.Environ(), "LONGHAUL_THREADS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 0 || all[len(all)-1].Event != "done" {
		return nil, fmt.Errorf("the run did not say that it is done")
	}
	return all, lines.Err()
}

// simulated starts a judge that errs by a known measure, and returns its base URL.
func simulated(binary, listen string) (url string, stop func(), err error) {
	cmd := exec.Command(binary, "judge", "simulate", "--listen", listen, "--noise", ".15", "--bias", ".1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), func() { cmd.Process.Kill(); cmd.Wait() }, err
}
