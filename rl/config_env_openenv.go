package rl

// OpenEnvConfig is a world that servers of OpenEnv run, one session an episode.
type OpenEnvConfig struct {
	URL          string   `json:"url,omitempty" doc:"base URL of the server; of several that are alike, with commas between"`
	Sessions     int      `json:"sessions,omitempty" doc:"sessions at once on one server: its max_concurrent_envs"`
	Header       string   `json:"header,omitempty" doc:"HTTP header that opens the server, where header_env is set"`
	HeaderEnv    string   `json:"header_env,omitempty" doc:"environment variable that holds the header's whole value, such as Bearer ..."`
	System       string   `json:"system,omitempty" doc:"the system message: what the agent is to do"`
	Tool         string   `json:"tool,omitempty" doc:"name of the tool whose arguments are an action"`
	Schema       string   `json:"schema,omitempty" doc:"file with the JSON schema of an action; empty: the server's own, at /schema"`
	Tasks        string   `json:"tasks,omitempty" doc:"file of tasks, a JSON object a line: split, kind, goal, reset; empty: tasks differ by their seed alone"`
	Show         string   `json:"show,omitempty" doc:"fields of an observation that the agent sees, with commas between; empty: all but metadata"`
	OutputBytes  int      `json:"output_bytes,omitempty" doc:"longest observation that the agent sees"`
	Score        string   `json:"score,omitempty" doc:"what an episode earns of its rewards: sum or last"`
	Failed       string   `json:"failed,omitempty" doc:"a step that fails in the server's code (EXECUTION_ERROR): void, the episode fails, tried again from its journal first; or observation, the agent is told"`
	ResetTimeout Duration `json:"reset_timeout,omitempty" doc:"how long an episode may take to begin, waiting for a server included"`
}
