package config

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

const agent = "agent"

// passedOn is env.agent.env: what is secret is named by a variable, as no value of one can stand in a run.yaml.
var passedOn = matching("NAME=VARIABLE, the second a variable of the worker's environment in capitals, with commas between",
	`^[A-Za-z_][A-Za-z0-9_]*=[A-Z_][A-Z0-9_]{0,63}( *, *[A-Za-z_][A-Za-z0-9_]*=[A-Z_][A-Z0-9_]{0,63})*$`)

// fitAgent fills in how an agent is run.
func fitAgent(e *rl.EnvConfig, given func(path string) bool) {
	if e.Use != agent {
		return
	}
	if !given("env.agent.goal") {
		e.Agent.Goal = "argument"
	}
	if !given("env.agent.output") {
		e.Agent.Output = 16 << 10
	}
}

// startAgent is what `longhaul init --env agent` begins with: an example to be filled in, whose policy is a served model.
func startAgent(c *rl.Config) {
	c.Env.Tasks = rl.TasksConfig{Train: rl.TaskRange{Last: 79}, Eval: rl.TaskRange{Last: 19}}
	c.Env.MaxTurns, c.Env.EpisodeTimeout = 30, rl.Duration(10*time.Minute)
	a := &c.Env.Agent
	a.Command, a.Directory, a.Tasks, a.Check = "python3 agent.py", ".", "tasks.jsonl", "python3 check.py"
	c.Policy = rl.PolicyConfig{Use: "openai", URL: "http://127.0.0.1:8000/v1", Model: "Qwen/Qwen3-4B", Base: "/models/Qwen3-4B", Publish: "lora", Adapters: "/models/adapters"}
	c.Group.PerUpdate = 16
	c.Update.Use, c.Update.LoRARank = "local", 16
}

func agentAlone(c rl.Config) (wrong, bool) {
	return disagree("env.agent", "no such key without use: agent", "", "env.agent", "env.use"), c.Env.Use == agent || c.Env.Agent == rl.AgentConfig{}
}

func agentNeeds(c rl.Config) (wrong, bool) {
	if c.Env.Use != agent {
		return wrong{}, true
	}
	a := c.Env.Agent
	for _, k := range []struct {
		key, expected string
		missing       bool
	}{
		{"command", "the agent's command", a.Command == ""}, {"tasks", "the file of tasks", a.Tasks == ""},
		{"goal", "argument, environment or stdin", a.Goal == ""}, {"output", "the bytes of the agent's output that are kept", a.Output == 0},
	} {
		if k.missing {
			return disagree("no env.agent."+k.key, k.expected, "", "env.agent."+k.key, "env.agent", "env.use"), false
		}
	}
	return wrong{}, true
}
