package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

const (
	name = "mcp"
	at   = "environment " + name
)

func init() { envs.RegisterKind(envs.Kind{Name: name, Open: open}) }

func open(c rl.EnvConfig) (envs.World, error) {
	src, err := os.ReadFile(c.MCP.Tasks)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.mcp.tasks", "%w", err)
	}
	tasks, err := ReadTasks(c.MCP.Tasks, src)
	if err != nil {
		return envs.World{}, err
	}
	s, err := Open(context.Background(), c.MCP)
	if err != nil {
		return envs.World{}, err
	}
	w, err := s.World(tasks)
	if err != nil {
		s.Close()
	}
	return w, err
}

// world is tasks for the servers of a configuration.
type world struct {
	*Servers
	tasks map[rl.Split][]Task
}

// World is an environment of these tasks, none also. Errors: Invalid at a key of env.mcp, for a task that these servers cannot have.
func (s *Servers) World(tasks []Task) (envs.World, error) {
	w := &world{Servers: s, tasks: map[rl.Split][]Task{}}
	for _, t := range tasks {
		if err := s.Suits(t); err != nil {
			return envs.World{}, err
		}
		w.tasks[t.split()] = append(w.tasks[t.split()], t)
	}
	lines, err := json.Marshal(tasks)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.mcp.tasks", "%w", err)
	}
	sum := sha256.Sum256(slices.Concat(lines, s.began, s.actions))
	return envs.World{
		Name: name, New: func() envs.Env { return &env{world: w} }, Task: w.task, Digest: hex.EncodeToString(sum[:]),
		Count:     func(split rl.Split) int { return len(w.tasks[split]) },
		Facts:     func(t rl.Task) []string { return []string{w.of(t).identity()} },
		Rubric:    w.rubric,
		Reference: w.reference,
	}, nil
}

// Suits checks that an episode of a task can begin and end here. Error: Invalid at a key of env.mcp.
func (s *Servers) Suits(t Task) error {
	files := len(t.Files) > 0
	var tools []string
	for _, c := range t.Checks {
		files, tools = files || c.File != "", append(tools, c.Tool)
	}
	for _, step := range t.Solution {
		tools = append(tools, step.Tool)
	}
	switch {
	case files && !s.dirs:
		return rl.Errorf(rl.Invalid, s.key(), "the task %q has files, and there is no {dir} for them", clip(t.Goal))
	case files && s.config.Share != "episode":
		return rl.Errorf(rl.Invalid, "env.mcp.share", "the task %q has files, and all episodes have the same directory", clip(t.Goal))
	}
	for path := range t.Files {
		info, err := os.Stat(filepath.Join(s.files, path))
		if s.files != "" && (errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir()) {
			return rl.Errorf(rl.Invalid, "env.mcp.files", "the file %s of the task %q is a directory here, or lies in a file", path, clip(t.Goal))
		}
	}
	for _, tool := range tools { // a check of another one could never hold
		if tool != "" && !s.names[tool] {
			return rl.Errorf(rl.Invalid, "env.mcp.tasks", "the task %q names the tool %s, which the server does not have", clip(t.Goal), tool)
		}
	}
	return nil
}

// HasDirectory reports whether an episode has a directory of its own, which a task's files can be put into.
func HasDirectory(c rl.MCPConfig) bool {
	return strings.Contains(c.Command, "{dir}") && c.Share == "episode"
}
