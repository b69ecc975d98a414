package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// withMCP are names that have the kind.
func withMCP() Names {
	n := names
	n.Envs = append(slices.Clone(n.Envs), mcp)
	return n
}

func TestMCPAgreements(t *testing.T) {
	const head = "name: a\nenv: {use: mcp, mcp: {tasks: t.jsonl, "
	for _, c := range []struct{ src, want string }{
		{head + "command: npx x}}", ""},
		{head + "url: 'http://a/mcp', headers: 'Authorization=MCP_KEY, X-A=B'}}", ""},
		{head + "command: npx x, env: 'a=B', effects: 'read-file=pure, b=external_once', share: worker, effect: pure}}", ""},
		{"name: a\nenv: {use: mcp, mcp: {tasks: t}}", "env.mcp.command: found no env.mcp.command, expected the server's command, or env.mcp.url"},
		{"name: a\nenv: {use: mcp}", "env.mcp.command: found no env.mcp.command, expected the server's command, or env.mcp.url"},
		{"name: a\nenv: {use: mcp, mcp: {command: x}}", "env.mcp.tasks: found no env.mcp.tasks, expected the file of tasks (`longhaul tasks propose` has a model write one)"},
		{"name: a\nenv: {use: orders, mcp: {command: x}}", "env.mcp: found env.mcp, expected no such key without use: mcp"},
		{head + "command: x, url: 'http://a'}}", "env.mcp.url: found both env.mcp.command and env.mcp.url, expected one of them: longhaul starts the server, or it runs"},
		{head + "command: x, headers: A=B}}", "env.mcp.headers: found env.mcp.headers, expected no such key without env.mcp.url"},
		{head + "url: 'http://a', memory: 1Gi}}", "env.mcp.memory: found env.mcp.memory, expected no such key without env.mcp.command and share: episode"},
		{head + "command: x, share: worker}}", "env.mcp.effect: found no env.mcp.effect, expected pure, external_idempotent or external_once, with share: worker (what calls change is shared by all episodes)"},
		{head + "command: x, share: worker, effect: episode_local}}", "env.mcp.effect: found episode_local, expected another effect with share: worker (what calls change is shared by all episodes)"},
		{head + "command: x, share: worker, effect: pure, reuse: 3}}", "env.mcp.reuse: found env.mcp.reuse, expected no such key without share: episode"},
		{head + "command: x, env: KEY=hunter2}}", "env.mcp.env: found a value that is not repeated here, expected NAME=VARIABLE, the second a variable of the worker's environment in capitals, with commas between"},
		{head + "command: x --key sk-abcdefghijkl}}", `env.mcp.command: found a text of 23 characters that may be a key (not repeated here)`},
		{head + "command: x, files: d}}", "env.mcp.files: found env.mcp.files, expected no such key without {dir} in env.mcp.command"},
		{head + "command: x, share: worker, effect: pure, effects: 'a=pure,b=episode_local'}}", "env.mcp.effects: found episode_local, expected another effect with share: worker (what calls change is shared by all episodes)"},
		{head + "command: x, tools: fs.read}}", `env.mcp.tools: found "fs.read", expected names of tools, each of up to 64 of a-z A-Z 0-9 _ -, with commas between`},
		{head + "command: x, reuse: 0}}", "env.mcp.reuse: found 0 or nothing, expected how many episodes a server has one after the other, above 0"},
		{head + "command: x, servers: 3}}\npolicy: {concurrency: 4}", "policy.concurrency: found 4, expected 1 to 3, env.mcp.servers (an episode that waits for a place spends its own time on it)"},
		{head + "command: x, share: worker, effect: pure}}\npolicy: {concurrency: 400}", ""},
		{head + "command: x, effects: a=harmless}}", `env.mcp.effects: found "a=harmless", expected TOOL=EFFECT, with commas between`},
		{head + "command: x, call_timeout: 2h}}", "env.mcp.call_timeout: found 2h0m0s, expected less than env.episode_timeout, 30m0s (a call that hangs is to be noticed before the episode's time is over)"},
	} {
		_, err := Parse("run.yaml", []byte(c.src), withMCP())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v", c.src, err)
		}
	}
}

// What `longhaul init --env mcp` writes is read back as it was, and the documentation's file is one.
func TestMCPStarts(t *testing.T) {
	c, err := Start(mcp)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse("run.yaml", Commented(c), withMCP())
	if err != nil || string(rl.CanonicalJSON(back)) != string(rl.CanonicalJSON(c)) {
		t.Errorf("%v\n%s\nis not\n%s", err, rl.CanonicalJSON(back), rl.CanonicalJSON(c))
	}
	text, err := os.ReadFile("../docs/environments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```yaml\nname: files-1\n")
	src, _, _ := strings.Cut(after, "```")
	c, err = Parse("run.yaml", []byte("name: files-1\n"+src), withMCP())
	if err != nil || c.Env.MCP.Reuse != 100 || c.Policy.Concurrency != c.Env.MCP.Servers || c.Env.MCP.Effect != "episode_local" || c.Env.MCP.OutputBytes != 16384 {
		t.Errorf("%+v, %v", c.Env.MCP, err)
	}
}
