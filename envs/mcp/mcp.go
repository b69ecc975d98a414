package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	w, _, err := Open(c.MCP, tasks)
	return w, err
}

// Open is the world of a server with these tasks, none also. It starts the server once, to hear of its tools; server is how that
// names itself. Errors: Invalid at a key of env.mcp or at a task, Unavailable at "environment mcp" or where a secret is missing.
func Open(c rl.MCPConfig, tasks []Task) (_ envs.World, server string, err error) {
	w := &world{config: c, network: http.DefaultTransport.(*http.Transport).Clone(), tasks: map[rl.Split][]Task{}, validators: map[string]*validator{}}
	if c.Memory != "" {
		w.memory = bytesOf(c.Memory)
	}
	if w.words, err = words(c.Command); err != nil {
		return envs.World{}, "", rl.Errorf(rl.Invalid, "env.mcp.command", "%w", err)
	}
	w.dirs = strings.Contains(c.Command, "{dir}")
	if err := w.take(tasks); err != nil {
		return envs.World{}, "", err
	}
	if err := w.secretsOf(c); err != nil {
		return envs.World{}, "", err
	}
	files, err := digest(c.Files, tasks)
	if err != nil {
		return envs.World{}, "", rl.Errorf(rl.Invalid, "env.mcp.files", "%w", err)
	}
	w.pool = newPool(w)
	if server, err = w.ask(context.Background()); err != nil {
		return envs.World{}, "", err
	}
	sum := sha256.Sum256(slices.Concat(files, w.actions))
	return envs.World{
		Name: name, New: func() envs.Env { return &env{world: w} }, Task: w.task, Digest: hex.EncodeToString(sum[:]),
		Count:     func(split rl.Split) int { return len(w.tasks[split]) },
		Facts:     func(t rl.Task) []string { return []string{Fold(w.of(t).Goal)} },
		Rubric:    w.rubric,
		Reference: w.reference,
	}, server, nil
}

// HasDirectory reports whether an episode has a directory of its own, which a task's files can be put into.
func HasDirectory(c rl.MCPConfig) bool {
	return strings.Contains(c.Command, "{dir}") && c.Share == "episode"
}

// world is what the episodes of a configuration share.
type world struct {
	config  rl.MCPConfig
	memory  int64 // config.Memory in bytes; 0: no limit
	words   []string
	dirs    bool     // the command has {dir}
	environ []string // of the servers
	headers http.Header
	hide    *strings.Replacer // secrets, from what is recorded or logged
	network http.RoundTripper

	tasks      map[rl.Split][]Task
	spec       envs.Spec
	names      map[string]bool // of all tools of the server
	actions    []byte          // names and schemas of the tools
	validators map[string]*validator
	pool       *pool
}

// key is the key of the configuration that says which server it is.
func (w *world) key() string {
	if w.config.URL != "" {
		return "env.mcp.url"
	}
	return "env.mcp.command"
}

// take takes in the tasks. Errors: Invalid.
func (w *world) take(tasks []Task) error {
	for _, t := range tasks {
		needs := len(t.Files) > 0
		for _, c := range t.Checks {
			needs = needs || c.File != ""
		}
		switch {
		case needs && !w.dirs:
			return rl.Errorf(rl.Invalid, w.key(), "the task %q has files, and there is no {dir} for them", clip(t.Goal))
		case needs && w.config.Share != "episode":
			return rl.Errorf(rl.Invalid, "env.mcp.share", "the task %q has files, and all episodes have the same directory", clip(t.Goal))
		}
		w.tasks[t.split()] = append(w.tasks[t.split()], t)
	}
	return nil
}

// digest is what the files of a world come to, those of env.mcp.files and the tasks'.
func digest(dir string, tasks []Task) ([]byte, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(tasks); err != nil {
		return nil, err
	}
	if dir == "" {
		return h.Sum(nil), nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%q %x\n", inside, sha256.Sum256(b))
		return err
	})
	return h.Sum(nil), err
}
