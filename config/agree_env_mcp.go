package config

import (
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

const mcp = "mcp"

// The texts of env.mcp. What is secret is named by a variable: no value of one can stand in a run.yaml.
var (
	variables = matching("NAME=VARIABLE, the second a variable of the worker's environment in capitals, with commas between", `^`+oneVariable+`( *, *`+oneVariable+`)*$`)
	headers   = matching("HEADER=VARIABLE, the second a variable of the worker's environment in capitals, with commas between", `^`+oneHeader+`( *, *`+oneHeader+`)*$`)
	toolNames = matching("names of tools, each of up to 64 of a-z A-Z 0-9 _ -, with commas between", `^`+oneTool+`( *, *`+oneTool+`)*$`)
	effects   = matching("TOOL=EFFECT, with commas between; an effect is pure, episode_local, external_idempotent or external_once", `^`+oneEffect+`( *, *`+oneEffect+`)*$`)
)

const (
	oneVariable = `[A-Za-z_][A-Za-z0-9_]*=[A-Z_][A-Z0-9_]{0,63}`
	oneHeader   = `[A-Za-z0-9-]+=[A-Z_][A-Z0-9_]{0,63}`
	oneTool     = `[a-zA-Z0-9_-]{1,64}`
	oneEffect   = oneTool + `=(pure|episode_local|external_idempotent|external_once)`
)

// fitMCP fills in how a server is used.
func fitMCP(e *rl.EnvConfig, given func(path string) bool) {
	m := &e.MCP
	if e.Use != mcp {
		return
	}
	if !given("env.mcp.share") {
		m.Share = "episode"
	}
	if !given("env.mcp.output_bytes") {
		m.OutputBytes = 16 << 10
	}
	if m.Share != "episode" {
		return
	}
	if !given("env.mcp.reuse") {
		m.Reuse = 1
	}
	if !given("env.mcp.servers") {
		m.Servers = 16
	}
	if !given("env.mcp.effect") {
		m.Effect = "episode_local"
	}
}

// startMCP is what `longhaul init --env mcp` begins with: an example to be filled in, played by a served model and scored by a judge.
func startMCP(c *rl.Config) {
	c.Env.Tasks = rl.TasksConfig{Train: rl.TaskRange{Last: 79}, Eval: rl.TaskRange{Last: 19}}
	c.Env.MaxTurns = 20
	c.Env.MCP.Command, c.Env.MCP.Tasks = "npx -y @modelcontextprotocol/server-filesystem {dir}", "tasks.jsonl"
	c.Policy = rl.PolicyConfig{Use: "openai", URL: "http://127.0.0.1:8000/v1", Model: "Qwen/Qwen3-4B", Base: "/models/Qwen3-4B", Publish: "lora", Adapters: "/models/adapters", Concurrency: c.Policy.Concurrency}
	c.Group.PerUpdate = 16
	c.Reward.Use, c.Reward.URL, c.Reward.Model, c.Reward.APIKeyEnv = "judge", "https://api.openai.com/v1", "gpt-5-mini", "OPENAI_API_KEY"
	c.Update.Use, c.Update.LoRARank = "local", 16
	c.Eval.Every = 0 // evaluations count what the tasks' checks say, where they have some
}

func mcpAlone(c rl.Config) (wrong, bool) {
	return disagree("env.mcp", "no such key without use: mcp", "", "env.mcp", "env.use"), c.Env.Use == mcp || c.Env.MCP == rl.MCPConfig{}
}

func mcpServer(c rl.Config) (wrong, bool) {
	m := c.Env.MCP
	if m.Command != "" && m.URL != "" {
		return disagree("both env.mcp.command and env.mcp.url", "one of them: longhaul starts the server, or it runs", "", "env.mcp.url", "env.mcp.command"), false
	}
	return disagree("no env.mcp.command", "the server's command, or env.mcp.url", "", "env.mcp.command", "env.mcp", "env.use"), c.Env.Use != mcp || m.Command != "" || m.URL != ""
}

func mcpTasks(c rl.Config) (wrong, bool) {
	return disagree("no env.mcp.tasks", "the file of tasks", "`longhaul tasks propose` has a model write one", "env.mcp.tasks", "env.mcp", "env.use"), c.Env.Use != mcp || c.Env.MCP.Tasks != ""
}

// mcpKeys: a key that would do nothing is refused.
func mcpKeys(c rl.Config) (wrong, bool) {
	m := c.Env.MCP
	for _, k := range []struct {
		key      string
		set, has bool
		with     string
	}{
		{"env", m.Env != "", m.Command != "", "env.mcp.command"},
		{"memory", m.Memory != "", m.Command != "" && m.Share == "episode", "env.mcp.command and share: episode"},
		{"files", m.Files != "", strings.Contains(m.Command, "{dir}"), "{dir} in env.mcp.command"},
		{"headers", m.Headers != "", m.URL != "", "env.mcp.url"},
		{"reuse", m.Reuse != 0, m.Share == "episode", "share: episode"},
		{"servers", m.Servers != 0, m.Share == "episode", "share: episode"},
	} {
		if k.set && !k.has && c.Env.Use == mcp {
			return disagree("env.mcp."+k.key, "no such key without "+k.with, "", "env.mcp."+k.key, "env.mcp"), false
		}
	}
	return wrong{}, true
}

// mcpEffect: what all episodes share is no episode's own, and longhaul does not know what else it is.
func mcpEffect(c rl.Config) (wrong, bool) {
	m := c.Env.MCP
	if c.Env.Use == mcp && m.Share != "episode" && m.Effect == "" {
		return disagree("no env.mcp.effect", "pure, external_idempotent or external_once, with share: "+m.Share, "what calls change is shared by all episodes", "env.mcp.effect", "env.mcp.share", "env.mcp"), false
	}
	key, local := "env.mcp.effect", m.Effect == "episode_local"
	if strings.Contains(m.Effects, "=episode_local") {
		key, local = "env.mcp.effects", true
	}
	return disagree("episode_local", "another effect with share: "+m.Share, "what calls change is shared by all episodes", key, "env.mcp.share"), m.Share == "episode" || !local
}

func mcpDefaults(c rl.Config) (wrong, bool) {
	m := c.Env.MCP
	own := m.Share == "episode"
	for _, k := range []struct {
		key, expected string
		none          bool
	}{
		{"share", "episode or worker", m.Share == ""}, {"output_bytes", "the bytes of a result that the agent is shown, above 0", m.OutputBytes == 0},
		{"reuse", "how many episodes a server has one after the other, above 0", own && m.Reuse == 0},
		{"servers", "how many servers a worker has at once, above 0", own && m.Servers == 0},
		{"effect", "what calls change: pure, episode_local, external_idempotent or external_once", own && m.Effect == ""},
	} {
		if k.none && c.Env.Use == mcp {
			return disagree("0 or nothing", k.expected, "", "env.mcp."+k.key, "env.mcp"), false
		}
	}
	return wrong{}, true
}

func mcpTimeout(c rl.Config) (wrong, bool) {
	return disagree(c.Env.MCP.CallTimeout.String(), "less than env.episode_timeout, "+c.Env.EpisodeTimeout.String(), "a call that hangs is to be noticed before the episode's time is over", "env.mcp.call_timeout", "env.episode_timeout"),
		c.Env.Use != mcp || c.Env.MCP.CallTimeout < c.Env.EpisodeTimeout
}
