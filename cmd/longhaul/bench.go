package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// benchmark is `bench NAME --json`. Ratios compare two things measured in the same run, so that they mean the same on
// every machine; figures are what was measured.
type benchmark struct {
	Name    string             `json:"name"`
	Ratios  map[string]float64 `json:"ratios"`
	Figures map[string]float64 `json:"figures"`
}

// benchmarks by name, in the order in which they run.
var benchmarks = []struct {
	name, about string
	run         func(context.Context, *app) (benchmark, error)
}{
	{"tiny", "embedded policy: tokens a second, trained and sampled", benchTiny},
	{"rollout", "the rollout loop in memory, beside a bare Go loop, against a policy that takes 50 ms", benchRollout},
	{"durable", "rollouts through the whole line, journalled and stored, beside a bare Go loop", benchDurable},
	{"store", "a checkpoint of 2 GB, written, written again with one byte changed, and restored, beside a plain copy", benchStore},
	{"worlds", "worlds of SQLite: snapshots of an episode of 1 MB beside a turn, and the memory of 1,024 episodes at once", benchWorlds},
	{"judge", "what a judge is told of a group, beside the same as JSON and in the form of RULER", benchJudge},
}

func (a *app) benchCommand() *cobra.Command {
	about := ""
	var names []string
	for _, b := range benchmarks {
		about += fmt.Sprintf("\n  %-8s %s", b.name, b.about)
		names = append(names, b.name)
	}
	return a.jsonFlag(&cobra.Command{
		Use: "bench [NAME]", Short: "Measure this machine, as ratios of things measured side by side", GroupID: groupSetUp, Args: cobra.MaximumNArgs(1), ValidArgs: names,
		Long: "bench measures, in temporary directories of its own:" + about,
		RunE: func(cmd *cobra.Command, args []string) error {
			found := false
			for _, b := range benchmarks {
				if len(args) > 0 && args[0] != b.name {
					continue
				}
				found = true
				a.out.say("%s: %s", b.name, b.about)
				result, err := b.run(cmd.Context(), a)
				if err != nil {
					return fmt.Errorf("bench %s: %w", b.name, err)
				}
				if err := a.showBenchmark(result); err != nil {
					return err
				}
			}
			if !found {
				return usagef("there is no benchmark %q; there are %s", args[0], strings.Join(names, ", "))
			}
			return nil
		},
	})
}

func (a *app) showBenchmark(b benchmark) error {
	if a.out.json {
		return a.out.object(b)
	}
	var rows [][]string
	for _, k := range slices.Sorted(maps.Keys(b.Ratios)) {
		rows = append(rows, []string{b.Name, k, fmt.Sprintf("%.2f x", b.Ratios[k])})
	}
	for _, k := range slices.Sorted(maps.Keys(b.Figures)) {
		rows = append(rows, []string{b.Name, k, fmt.Sprintf("%.4g", b.Figures[k])})
	}
	a.out.rows(rows)
	return nil
}
