//go:build ignore

// Results trains the demo on fresh seeds and keeps the table in docs/results.md:
//
//	go run scripts/results.go -seeds 101-110
//
// The seeds must not be among those that the recipe was chosen on. Every run counts: none is left out.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	begin = "<!-- results: made by `make results` -->"
	end   = "<!-- end of results -->"
)

// done is the last event of `longhaul demo --json`, the part that the table shows.
type done struct {
	Event      string `json:"event"`
	Checkpoint struct {
		SHA256 string `json:"sha256"`
	} `json:"checkpoint"`
	Heldout struct {
		Tasks  int  `json:"tasks"`
		Before play `json:"before_play"`
		After  play `json:"after_play"`
	} `json:"heldout"`
}

type play struct {
	Greedy  float64 `json:"greedy"`
	Sampled float64 `json:"sampled"`
}

func main() {
	seeds := flag.String("seeds", "101-110", "first-last")
	binary := flag.String("longhaul", "bin/longhaul", "the binary")
	out := flag.String("out", "docs/results.md", "the page with the table")
	flag.Parse()
	var first, last int
	if _, err := fmt.Sscanf(*seeds, "%d-%d", &first, &last); err != nil || last < first {
		log.Fatalf("-seeds %q is not of the form 101-110", *seeds)
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "| seed | before: greedy / sampled | after: greedy / sampled | checkpoint |\n|---|---|---|---|\n")
	failed := 0
	for seed := first; seed <= last; seed++ {
		d, err := train(*binary, seed)
		if err != nil {
			log.Fatalf("seed %d: %v", seed, err)
		}
		h := d.Heldout
		verdict := ""
		if h.Before.Greedy > .5 || h.Before.Sampled > .5 || h.After.Greedy < .9 || h.After.Sampled < .9 {
			verdict, failed = " **fails**", failed+1
		}
		row := fmt.Sprintf("| %d | %.3f / %.3f | %.3f / %.3f%s | `%.12s` |\n", seed, h.Before.Greedy, h.Before.Sampled, h.After.Greedy, h.After.Sampled, verdict, d.Checkpoint.SHA256)
		fmt.Print(row)
		table.WriteString(row)
	}
	fmt.Fprintf(&table, "\n%d of %d seeds fail (at most .5 before, at least .9 after, both ways of play).\n", failed, last-first+1)
	if err := keep(*out, table.String()); err != nil {
		log.Fatal(err)
	}
}

// train runs one demo in a data directory of its own.
func train(binary string, seed int) (d done, err error) {
	dir, err := os.MkdirTemp("", "longhaul-results")
	if err != nil {
		return d, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(binary, "demo", "--json", "--quiet", "--seed", fmt.Sprint(seed), "--data", filepath.Join(dir, "data"))
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return d, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return d, err
		}
	}
	if d.Event != "done" {
		return d, fmt.Errorf("the last event is %q", d.Event)
	}
	return d, lines.Err()
}

// keep replaces what stands between the marks in the page.
func keep(page, table string) error {
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	return os.WriteFile(page, []byte(head+begin+"\n"+table+end+tail), 0o644)
}
