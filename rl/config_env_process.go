package rl

// ProcessConfig is a world that a program of one's own has, spoken to in lines of JSON (docs/process.md).
type ProcessConfig struct {
	Command      string   `json:"command,omitempty" doc:"shell command that starts the program, such as python3 world.py --level 2"`
	Processes    int      `json:"processes,omitempty" doc:"programs at once, in each worker"`
	Episodes     int      `json:"episodes,omitempty" doc:"episodes at once in each program; they share what it has loaded, and its end where it crashes"`
	Env          string   `json:"env,omitempty" doc:"NAME=VARIABLE, with commas between: what else is in its environment than PATH, HOME and the like, from the worker's variables"`
	StartTimeout Duration `json:"start_timeout,omitempty" doc:"how long the program may take to say hello"`
}
