package rl

// CodeConfig is a world in which the agent writes programs, and the sandbox that they run in.
type CodeConfig struct {
	Sandbox     string   `json:"sandbox,omitempty" doc:"micropython: a small Python inside this process; bubblewrap: Python 3 and a shell, where the kernel allows it; container: the same in an image"`
	Runtime     string   `json:"runtime,omitempty" doc:"container: podman or docker"`
	Image       string   `json:"image,omitempty" doc:"container: what it runs, with python3, sh, timeout and tar in it"`
	See         string   `json:"see,omitempty" doc:"bubblewrap: directories beside /usr that programs may read, with commas between"`
	Tasks       string   `json:"tasks,omitempty" doc:"file of tasks, a JSON object a line: split, kind, goal, files, module, function, reference, tests; empty: the tasks that longhaul makes"`
	Timeout     Duration `json:"timeout,omitempty" doc:"wall clock of one program"`
	MemoryMB    int      `json:"memory_mb,omitempty" doc:"memory of one program, in MiB"`
	Processes   int      `json:"processes,omitempty" doc:"bubblewrap, container: processes of one program"`
	Files       int      `json:"files,omitempty" doc:"files that the working directory holds"`
	DiskMB      int      `json:"disk_mb,omitempty" doc:"what they hold together, in MiB"`
	OutputBytes int      `json:"output_bytes,omitempty" doc:"longest output that the agent sees"`
}
