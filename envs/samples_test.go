package envs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	_ "github.com/longhaul-rl/longhaul/envs/code"
	_ "github.com/longhaul-rl/longhaul/envs/mcp"
	_ "github.com/longhaul-rl/longhaul/envs/openenv"
	_ "github.com/longhaul-rl/longhaul/envs/process"
	_ "github.com/longhaul-rl/longhaul/envs/sqlite"
	"github.com/longhaul-rl/longhaul/rl"
)

// sample is how an environment that run.yaml describes is tried here. A kind that has none fails TestEveryKindIsTried.
type sample struct {
	// config is a configuration of it. It may skip the test, saying what is missing on this machine.
	config func(t *testing.T) rl.EnvConfig
	// tasks is how many tasks of a split a check plays, where an episode is slow. 0: as many as a check would like to.
	tasks int
	// calls is how many odd calls a check makes, where each is a process. 0: fuzzedCalls.
	calls int
	// unproven says why nobody can know whether a task was solved, so that no reference earns full reward. Empty: the world has
	// a reference.
	unproven string
}

func use(name string) func(*testing.T) rl.EnvConfig {
	return func(*testing.T) rl.EnvConfig { return rl.EnvConfig{Use: name} }
}

// filesystem is a real MCP server with files, from scripts/worlds.
func filesystem(t *testing.T) rl.EnvConfig {
	all := os.Getenv("LONGHAUL_TEST_WORLDS")
	if all == "" {
		t.Skip("LONGHAUL_TEST_WORLDS is not set: `make test` installs the MCP server that this talks to")
	}
	return rl.EnvConfig{Use: "mcp", MCP: rl.MCPConfig{
		Command: "node '" + filepath.Join(all, "mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js") + "' {dir}",
		Tasks:   "mcp/testdata/files.jsonl", Share: "episode", Reuse: 1000, Servers: 8, Effect: "episode_local", OutputBytes: 10_000,
		Effects: "read_text_file=pure, list_directory=pure",
	}}
}

var samples = map[string]sample{
	"orders": {config: use("orders")},
	"mcp":    {config: filesystem, tasks: 3},
	"shop":   {config: use("shop")},
	"code": {tasks: 100, config: func(*testing.T) rl.EnvConfig {
		return rl.EnvConfig{Use: "code", Code: rl.CodeConfig{Timeout: rl.Duration(10 * time.Second), MemoryMB: 16, Files: 50, DiskMB: 2, OutputBytes: 1000}}
	}},
	"code in bubblewrap": {tasks: 3, calls: 150, config: bubblewrap},
	"process": {tasks: 100, config: func(t *testing.T) rl.EnvConfig {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("there is no python3")
		}
		return rl.EnvConfig{Use: "process", Process: rl.ProcessConfig{
			Command: "exec python3 ../examples/process/number.py", Processes: 2, Episodes: 8, StartTimeout: rl.Duration(time.Minute),
		}}
	}},
	"openenv": {tasks: 20, config: openenvSample, unproven: "what a server rewards is its own affair"},
	"sqlite": {config: func(*testing.T) rl.EnvConfig {
		return rl.EnvConfig{Use: "sqlite", SQLite: rl.SQLiteConfig{Dir: "sqlite/testdata/library"}}
	}},
}

// bubblewrap is the world of programs in another of its sandboxes.
func bubblewrap(t *testing.T) rl.EnvConfig {
	c := rl.EnvConfig{Use: "code", Code: rl.CodeConfig{
		Sandbox: "bubblewrap", Timeout: rl.Duration(10 * time.Second), MemoryMB: 256, Processes: 16, Files: 50, DiskMB: 2, OutputBytes: 1000,
	}}
	if _, err := envs.Open(t.Context(), c); err != nil {
		t.Skip(err)
	}
	return c
}

func TestEveryKindIsTried(t *testing.T) {
	for _, name := range envs.Names() {
		// A registered world needs no configuration, so that a new one is tried on arrival.
		if _, ok := samples[name]; !ok && !slices.Contains(envs.Worlds(), name) {
			t.Errorf("environment %s is in no check of this package: give it a sample configuration in samples_test.go", name)
		}
	}
}

// tried is a world under test.
type tried struct {
	envs.World
	sample
}

// everyWorld runs a check for each registered world and for each sample of a kind.
func everyWorld(t *testing.T, check func(t *testing.T, w tried)) {
	names := slices.AppendSeq(envs.Worlds(), maps.Keys(samples))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t.Run(name, func(t *testing.T) {
			s, ok := samples[name]
			if !ok {
				s.config = use(name)
			}
			w, err := envs.Open(t.Context(), s.config(t))
			if err != nil {
				t.Fatal(err)
			}
			check(t, tried{w, s})
		})
	}
}

// some are tasks of a split: the first ones, as many as are asked for and the world and its sample have.
func (w tried) some(split rl.Split, most int) (tasks []rl.Task) {
	if w.Count != nil {
		most = min(most, w.Count(split))
	}
	if w.tasks > 0 {
		most = min(most, w.tasks)
	}
	for i := range most {
		tasks = append(tasks, w.Task(split, i))
	}
	return tasks
}
