package config

import (
	"strings"
	"testing"
)

func TestProcess(t *testing.T) {
	names := names
	names.Envs = []string{"orders", "process"}
	const head = "name: a\nenv: {use: process, process: {command: 'python3 world.py'"
	for _, c := range []struct{ name, src, want string }{
		{"defaults", head + "}}", ""},
		{"no program", "name: a\nenv: {use: process, process: {command: ''}}", `run.yaml:2:40: env.process.command: found no env.process.command, expected the command that starts the program, such as python3 world.py`},
		{"another world", "name: a\nenv: {use: orders, process: {command: x}}", `run.yaml:2:29: env.process: found env.process, expected no such key without use: process`},
		{"no programs", head + ", processes: 0}}", `run.yaml:2:71: env.process.processes: found 0 or nothing, expected a value above 0`},
		{"a secret", head + ", env: 'HF_TOKEN=hf_0123456789'}}", `run.yaml:2:65: env.process.env: found a value that is not repeated here, expected NAME=VARIABLE, the second a variable of the worker's environment in capitals, with commas between`},
		{"variables", head + ", env: 'HF_TOKEN=HF_TOKEN, seed=SEED_1'}}", ""},
		{"more episodes than places", head + ", processes: 2, episodes: 3}}\npolicy: {concurrency: 7}", `run.yaml:3:23: policy.concurrency: found 7, expected 1 to 6, env.process.processes x episodes (an episode that waits for a place spends its own time on it)`},
		{"fewer", head + ", processes: 2, episodes: 3}}\npolicy: {concurrency: 5}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("run.yaml", []byte(c.src), names)
			if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
	cfg, err := Parse("run.yaml", []byte(head+"}}"), names)
	if err != nil || cfg.Env.Process.Processes != 2 || cfg.Env.Process.Episodes != 16 || cfg.Policy.Concurrency != 32 {
		t.Errorf("%+v, %v", cfg.Env.Process, err)
	}
}
