package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// address is what a person points `show` at. Training lies under RUN/UPDATE/TASK/MEMBER, evaluations under
// VERSION/EVALUATION/TASK/PLAY.
type address struct {
	run    rl.RunID
	depth  int // how many parts after the run or version are given
	update rl.UpdateNumber
	task   rl.TaskID
	member int

	version    rl.Version // of an evaluation; else empty
	pointer    string     // latest or best, instead of a version until resolve
	evaluation string
	play       string // greedy or sampled
}

func parseAddress(s string) (a address, err error) {
	parts := strings.Split(strings.TrimSuffix(s, "/"), "/")
	wrong := usagef("%q is neither RUN[/UPDATE[/TASK[/MEMBER]]] nor RUN@VERSION[/EVALUATION[/TASK[/greedy|sampled]]] (a VERSION is a number, latest or best); `longhaul runs` lists the runs", s)
	if len(parts) > 4 || strings.Contains(s, "//") {
		return a, wrong
	}
	a.depth = len(parts) - 1
	if strings.Contains(parts[0], "@") {
		return a.evaluated(parts, wrong)
	}
	if a.run = rl.RunID(parts[0]); !a.run.Valid() {
		return a, wrong
	}
	parts = append(parts, []string{"", "0", "-", "0"}[len(parts):]...)
	n, ok1 := index(parts[1])
	m, ok3 := index(parts[3])
	a.update, a.task, a.member = rl.UpdateNumber(n), rl.TaskID(parts[2]), m
	if !ok1 || !ok3 || a.task == "" {
		return a, wrong
	}
	return a, nil
}

func (a address) evaluated(parts []string, wrong error) (address, error) {
	if run, pointer, ok := pointerNamed(parts[0]); ok {
		a.run, a.pointer = run, pointer
	} else {
		// Any spelling of the number will do: orders-1@40 is orders-1@000040.
		run, n, err := rl.Version(parts[0]).Parse()
		if err != nil {
			return a, wrong
		}
		a.run, a.update, a.version = run, n, rl.VersionOf(run, n)
	}
	parts = append(parts, []string{"", "-", "-", "greedy"}[len(parts):]...)
	a.evaluation, a.task, a.play = parts[1], rl.TaskID(parts[2]), parts[3]
	if a.evaluation == "" || a.task == "" || a.play != "greedy" && a.play != "sampled" {
		return a, wrong
	}
	return a, nil
}

// resolve looks up the version that a pointer names now.
func (a address) resolve(ctx context.Context, st *store.Store) (address, error) {
	if a.pointer == "" {
		return a, nil
	}
	n, err := pointedAt(ctx, st, a.run, a.pointer)
	a.update, a.version, a.pointer = n, rl.VersionOf(a.run, n), ""
	return a, err
}

// index reads a number as the commands print it, or padded as in the store's keys.
func index(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && len(s) <= 9 && s[0] != '+'
}
