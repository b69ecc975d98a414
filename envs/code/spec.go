package code

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// queue is how long a call, or a score, may wait for its turn, beside the time that the program has: there is a place for each processor.
const queue = 10 * time.Minute

// specOf is what the agent is told of a sandbox, and may do in it.
func specOf(box sandbox, b bounds, output int) envs.Spec {
	patience := queue + b.time + startUp
	s := envs.Spec{ScoreTimeout: patience, System: fmt.Sprintf("You write programs. You have a working directory, and tools to read and write its files and to run code in it, as %s. "+
		"Files stay from call to call, variables do not. There is no network. A program has %s and %d MiB of memory; the directory holds %d files of %d MiB together.",
		box.python(), b.time, b.memory>>20, b.disk.files, b.disk.bytes>>20)}
	add := func(name, description string, effect envs.Effect, properties, required string) {
		schema := fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`, properties, required)
		s.Tools = append(s.Tools, envs.Tool{
			Tool:   rl.Tool{Name: name, Description: description, Parameters: json.RawMessage(schema)},
			Effect: effect, OutputCap: output + 1000, Timeout: patience,
		})
	}
	add("run_python", "Runs Python code in the working directory and shows what it prints.", envs.EpisodeLocal,
		`"code":{"type":"string","description":"the program"}`, `"code"`)
	if box.shell() {
		add("run_shell", "Runs a command with sh in the working directory and shows what it prints.", envs.EpisodeLocal,
			`"command":{"type":"string","description":"the command line"}`, `"command"`)
	}
	add("write_file", "Writes a file, in place of what is there.", envs.EpisodeLocal,
		`"path":{"type":"string","description":"relative to the working directory"},"content":{"type":"string"}`, `"path","content"`)
	add("read_file", "Shows a file.", envs.Pure, `"path":{"type":"string","description":"relative to the working directory"}`, `"path"`)
	add("submit", "Ends the work: what is in the working directory then counts.", envs.EpisodeLocal, "", "")
	return s
}
