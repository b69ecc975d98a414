package rl

// AgentConfig is an agent of one's own as an environment: a program that plays each episode by itself, with the policy as its
// OpenAI endpoint; see package gateway.
type AgentConfig struct {
	Command   string `json:"command,omitempty" doc:"the agent's command, run once an episode; quotes keep spaces, {dir} stands for the episode's own directory. It is told OPENAI_BASE_URL and OPENAI_API_KEY, and nothing of this process's environment but PATH, HOME and the like"`
	Directory string `json:"directory,omitempty" doc:"where it runs; empty: the episode's own directory, which is empty at first and is removed"`
	Env       string `json:"env,omitempty" doc:"NAME=VARIABLE, with commas between: what else is in its environment, from the worker's variables"`
	Goal      string `json:"goal,omitempty" doc:"how it is told the task's goal: argument, the last one; stdin; or environment, as LONGHAUL_GOAL (which is always set)"`
	Tasks     string `json:"tasks,omitempty" doc:"the file of tasks, JSON lines (docs/environments.md)"`
	Check     string `json:"check,omitempty" doc:"a command that scores an episode: it reads the agent's output, and prints {\"score\": NUMBER} or ends with 0 (success), or with 1 and nothing on its error output (none); empty: the agent's program writes such an object to LONGHAUL_DIR/score.json, or a judge scores"`
	Output    int    `json:"output,omitempty" doc:"bytes of the agent's output that are kept: the last ones"`
}
