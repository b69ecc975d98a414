package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// What benchWorlds plays: so many worlds at once, and episodes of a database of about 1 MB.
const (
	benchWorldsAtOnce = 1024
	benchWorldTurns   = 50
	benchWorldRows    = 2000 // of 500 bytes
)

// benchWorlds measures worlds of SQLite: what a snapshot and going on from it take beside a turn, in an episode of 1 MB; and what
// 1,024 episodes of the shop hold in memory when all are open at once, each with its ticket half done.
func benchWorlds(ctx context.Context, _ *app) (b benchmark, err error) {
	b = benchmark{Name: "worlds", Ratios: map[string]float64{}, Figures: map[string]float64{"worlds": benchWorldsAtOnce}}
	dir, err := os.MkdirTemp("", "longhaul-bench")
	if err != nil {
		return b, err
	}
	defer os.RemoveAll(dir)
	if err := writeLargeWorld(dir); err != nil {
		return b, err
	}
	large, err := envs.Open(ctx, rl.EnvConfig{Use: "sqlite", SQLite: rl.SQLiteConfig{Dir: dir}})
	if err != nil {
		return b, err
	}
	if err := benchSnapshots(ctx, large, &b); err != nil {
		return b, err
	}
	shop, err := envs.Open(ctx, rl.EnvConfig{Use: "shop"})
	if err != nil {
		return b, err
	}
	for _, of := range []struct {
		name  string
		world envs.World
	}{{"shop_memory_mb", shop}, {"large_memory_mb", large}} {
		bytes, err := openAtOnce(ctx, of.world)
		if err != nil {
			return b, err
		}
		b.Figures[of.name] = float64(bytes) / (1 << 20)
	}
	return b, nil
}

// benchSnapshots takes turns in an episode, and after each a snapshot that another Env goes on from.
func benchSnapshots(ctx context.Context, w envs.World, b *benchmark) error {
	here, there := w.New(), w.New()
	defer here.Close()
	defer there.Close()
	if _, err := here.Reset(ctx, w.Task(rl.Train, 0)); err != nil {
		return err
	}
	var turns, taken, restored []float64
	for i := range benchWorldTurns {
		var snapshot []byte
		for _, step := range []struct {
			seconds *[]float64
			do      func() error
		}{
			{&turns, func() error {
				arguments := json.RawMessage(fmt.Sprintf(`{"id":%d}`, 1+37*i))
				_, err := here.Step(ctx, envs.Call{ToolCall: rl.ToolCall{Name: "mark", Arguments: arguments}})
				return err
			}},
			{&taken, func() (err error) { snapshot, err = here.Snapshot(ctx); return err }},
			{&restored, func() error { return there.Restore(ctx, snapshot) }},
		} {
			seconds, err := timed(step.do)
			if err != nil {
				return err
			}
			*step.seconds = append(*step.seconds, seconds)
		}
		b.Figures["snapshot_kb"] = float64(len(snapshot)) / 1024
	}
	b.Figures["turn_ms"], b.Figures["snapshot_ms"], b.Figures["restore_ms"] = median(turns)*1e3, median(taken)*1e3, median(restored)*1e3
	b.Ratios["a snapshot and going on from it, over a turn"] = (median(taken) + median(restored)) / median(turns)
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// openAtOnce has so many episodes open at the same time, each with a call made and a snapshot taken, and tells what they hold in
// memory, SQLite's own included. It is 0 where the system does not say.
func openAtOnce(ctx context.Context, w envs.World) (bytes int64, err error) {
	debug.FreeOSMemory()
	before, open := residentMemory(), []envs.Env{}
	defer func() {
		for _, e := range open {
			e.Close()
		}
	}()
	for i := range benchWorldsAtOnce {
		e, task := w.New(), w.Task(rl.Train, i%w.Count(rl.Train))
		open = append(open, e)
		o, err := e.Reset(ctx, task)
		if err != nil {
			return 0, err
		}
		if _, err := e.Step(ctx, envs.Call{ToolCall: w.Reference(task)(o.Messages).ToolCalls[0]}); err != nil {
			return 0, err
		}
		if _, err := e.Snapshot(ctx); err != nil {
			return 0, err
		}
	}
	return residentMemory() - before, nil
}

// writeLargeWorld makes a world whose database has about 1 MB.
func writeLargeWorld(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "tools"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"schema.sql": fmt.Sprintf("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, marked INTEGER NOT NULL DEFAULT 0);\n"+
			"INSERT INTO notes (text) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT printf('%%0480d', i * i) FROM n;\n", benchWorldRows),
		"tools/mark.sql": "-- Marks a note.\n-- effect: episode_local\n-- param id: {\"type\": \"integer\"}\nUPDATE notes SET marked = 1 WHERE id = :id;\n",
		"tasks.jsonl": `{"split": "train", "goal": "Mark note 7.", "checks": [{"why": "it is not marked", "sql": "SELECT marked FROM notes WHERE id = 7"}], "reference": [{"tool": "mark", "arguments": {"id": 7}}]}` + "\n" +
			`{"split": "eval", "goal": "Mark note 8.", "checks": [{"why": "it is not marked", "sql": "SELECT marked FROM notes WHERE id = 8"}]}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
