package rl

// MCPConfig is the tools of an MCP server as an environment: the server, how episodes use it, and the tasks.
type MCPConfig struct {
	Command     string   `json:"command,omitempty" doc:"the server's command, over stdio; quotes keep spaces, {dir} stands for the episode's own directory. It is told nothing of this process's environment but PATH, HOME and the like"`
	URL         string   `json:"url,omitempty" doc:"or the URL of a server that runs, over streamable HTTP"`
	Env         string   `json:"env,omitempty" doc:"command: NAME=VARIABLE, with commas between: what else is in its environment, from the worker's variables"`
	Headers     string   `json:"headers,omitempty" doc:"url: HEADER=VARIABLE, with commas between: sent with each request, from the worker's variables, such as Authorization=MCP_AUTHORIZATION"`
	Tasks       string   `json:"tasks,omitempty" doc:"the file of tasks, JSON lines (docs/environments.md), on every machine that has a worker; longhaul tasks propose writes one"`
	Files       string   `json:"files,omitempty" doc:"a directory whose content {dir} begins with in every episode"`
	System      string   `json:"system,omitempty" doc:"the system message; @FILE: read from a file"`
	Tools       string   `json:"tools,omitempty" doc:"the tools that the agent gets, with commas between; empty: all"`
	Share       string   `json:"share,omitempty" doc:"episode: each has a server (with url: a session) to itself; worker: the episodes of a worker use one at the same time"`
	Reuse       int      `json:"reuse,omitempty" doc:"share: episode: episodes that a server may have one after the other; above 1 for servers that keep nothing outside of {dir}"`
	Servers     int      `json:"servers,omitempty" doc:"share: episode: servers of a worker at once; further episodes wait"`
	Memory      string   `json:"memory,omitempty" doc:"command: memory of a worker's servers together, such as 4Gi, from which on no further one is started; empty: no limit"`
	Effect      string   `json:"effect,omitempty" doc:"what calls change: pure, episode_local, external_idempotent or external_once (the server's own hints decide nothing)"`
	Effects     string   `json:"effects,omitempty" doc:"TOOL=EFFECT, with commas between, for tools that differ"`
	CallTimeout Duration `json:"call_timeout,omitempty" doc:"wall clock of a tool call; 0: env.turn_timeout"`
	OutputBytes int      `json:"output_bytes,omitempty" doc:"bytes of a tool's result that the agent is shown"`
}
