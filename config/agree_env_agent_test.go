package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// withAgent are names that have the kind.
func withAgent() Names {
	n := names
	n.Envs = append(slices.Clone(n.Envs), agent)
	return n
}

func TestAgentAgreements(t *testing.T) {
	const head = "name: a\nenv: {use: agent, agent: {"
	for _, c := range []struct{ src, want string }{
		{head + "command: x, tasks: t.jsonl}}", ""},
		{head + "command: x, tasks: t.jsonl, env: 'A=B, C=D_E', goal: stdin, check: y}}", ""},
		{"name: a\nenv: {use: agent}", "env.agent.command: found no env.agent.command, expected the agent's command"},
		{head + "command: x}}", "env.agent.tasks: found no env.agent.tasks, expected the file of tasks"},
		{"name: a\nenv: {use: orders, agent: {command: x}}", "env.agent: found env.agent, expected no such key without use: agent"},
		{head + "command: x, tasks: t, env: KEY=hunter2}}", "env.agent.env: found a value that is not repeated here, expected NAME=VARIABLE"},
		{head + "command: x --key sk-abcdefghijkl, tasks: t}}", "env.agent.command: found a text of 23 characters that may be a key (not repeated here)"},
		{head + "command: x, tasks: t, goal: file}}", `env.agent.goal: found "file", expected argument, environment or stdin`},
	} {
		_, err := Parse("run.yaml", []byte(c.src), withAgent())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v", c.src, err)
		}
	}
}

// What `longhaul init --env agent` writes is read back as it was, and the documentation's file is one.
func TestAgentStarts(t *testing.T) {
	c, err := Start(agent)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse("run.yaml", Commented(c), withAgent())
	if err != nil || string(rl.CanonicalJSON(back)) != string(rl.CanonicalJSON(c)) {
		t.Errorf("%v\n%s\nis not\n%s", err, rl.CanonicalJSON(back), rl.CanonicalJSON(c))
	}
	text, err := os.ReadFile("../docs/environments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Agents of your own")
	_, file, _ := strings.Cut(section, "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	if _, err := Parse("run.yaml", []byte(file), withAgent()); err != nil {
		t.Error(err)
	}
}
