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

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

// ask asks a server for its tools, and what it is.
func (w *world) ask(ctx context.Context) (server string, err error) {
	s, err := w.pool.take(ctx)
	if err != nil {
		return "", err
	}
	defer w.pool.give(s)
	tools, names, err := w.listed(ctx, s)
	if err != nil {
		return "", err
	}
	w.names, w.spec = names, envs.Spec{System: w.system(s.session.InitializeResult(), s.dir), Tools: tools, TextEnds: true}
	w.actions = actions(tools)
	for _, t := range tools {
		if w.validators[t.Name] = newValidator(t.Parameters); w.validators[t.Name] == nil {
			envs.Log.Warn("an MCP tool's schema is of a kind that is not understood; its server alone checks arguments by it", "tool", t.Name)
		}
	}
	if err := w.known(); err != nil {
		return "", err
	}
	if i := s.session.InitializeResult(); i.ServerInfo != nil {
		server = strings.TrimSpace(i.ServerInfo.Name + " " + i.ServerInfo.Version)
	}
	return server, nil
}

// listed are the tools that the agent gets of a server, and the names of all.
func (w *world) listed(ctx context.Context, s *server) ([]envs.Tool, map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	all, err := listed(ctx, s.session)
	if err != nil {
		return nil, nil, s.lost("it was asked for its tools", err)
	}
	return w.tools(all, s.dir)
}

// known checks that the tools which tasks name are the server's: a check of another one could never hold. Error: Invalid.
func (w *world) known() error {
	for _, tasks := range w.tasks {
		for _, t := range tasks {
			var named []string
			for _, c := range t.Checks {
				named = append(named, c.Tool)
			}
			for _, s := range t.Solution {
				named = append(named, s.Tool)
			}
			for _, tool := range named {
				if tool != "" && !w.names[tool] {
					return rl.Errorf(rl.Invalid, "env.mcp.tasks", "the task %q names the tool %s, which the server does not have", clip(t.Goal), tool)
				}
			}
		}
	}
	return nil
}

// same checks that a server has the tools that the first had: an update of it in mid-run would change what the agent learns on.
func (w *world) same(ctx context.Context, s *server) error {
	if w.actions == nil {
		return nil
	}
	tools, _, err := w.listed(ctx, s)
	if err != nil {
		return err
	}
	if string(actions(tools)) != string(w.actions) {
		return rl.Errorf(rl.Refused, at, "the server has other tools, or other arguments of them, than the one before it")
	}
	return nil
}

// system is what the agent is told before the task.
func (w *world) system(about *mcp.InitializeResult, dir string) string {
	if w.config.System != "" {
		return w.config.System
	}
	say := "Do what the user asks, with the tools. When you are done, say what came of it in a message without a call; that ends the work."
	if dir != "" {
		say += " Your files are in the directory " + alias + "."
	}
	if about.Instructions != "" {
		say += "\n\n" + shown(about.Instructions, dir)
	}
	return say
}

func (w *world) task(split rl.Split, index int) rl.Task {
	t := rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: name, Split: split, Index: index}
	if of := w.tasks[split]; index >= 0 && index < len(of) {
		t.Kind = of[index].Kind
	}
	return t
}

// of is what a task is about, nil when it is none of this world.
func (w *world) of(t rl.Task) *Task {
	if all := w.tasks[t.Split]; t.Index >= 0 && t.Index < len(all) && t == w.task(t.Split, t.Index) {
		return &all[t.Index]
	}
	return nil
}

const anyRubric = "An attempt is good when it does what the user asks, completely and with nothing else changed, and when its last message says truthfully what came of it."

func (w *world) rubric(t rl.Task) string {
	if own := w.of(t); own != nil && own.Rubric != "" {
		return own.Rubric
	}
	return anyRubric
}

// reference plays the task's solution. One without a solution has none.
func (w *world) reference(t rl.Task) func([]rl.Message) rl.Message {
	return func(messages []rl.Message) rl.Message {
		m, n := rl.Message{Role: rl.Assistant}, 0
		for _, before := range messages {
			if before.Role == rl.Assistant {
				n++
			}
		}
		own := w.of(t)
		if own == nil || n >= len(own.Solution) {
			return m
		}
		step := own.Solution[n]
		if step.Tool == "" {
			m.Content = step.Answer
			return m
		}
		arguments := step.Arguments
		if arguments == nil {
			arguments = json.RawMessage("{}")
		}
		m.ToolCalls = []rl.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: step.Tool, Arguments: arguments}}
		return m
	}
}
