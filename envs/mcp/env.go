package mcp

import (
	"context"
	"encoding/json"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// env plays an episode with a server of the world's.
type env struct {
	world  *world
	server *server // nil: no episode runs
	task   *Task
	answer string
	done   bool
	lost   bool // a call came to nobody knows what
}

func (e *env) Spec() envs.Spec { return e.world.spec }

// Reset takes a server. An episode that ran before is given up with its own.
func (e *env) Reset(ctx context.Context, task rl.Task) (rl.Observation, error) {
	own := e.world.of(task)
	if own == nil {
		return rl.Observation{}, rl.Errorf(rl.Invalid, at, "%+v is not a task of this world", task)
	}
	if err := e.Close(); err != nil {
		return rl.Observation{}, err
	}
	s, err := e.world.pool.take(ctx)
	if err != nil {
		return rl.Observation{}, failed(err)
	}
	*e = env{world: e.world, server: s, task: own}
	if e.world.config.Share == "episode" {
		if err := s.clean(own.Files); err != nil {
			return rl.Observation{}, err
		}
	}
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: own.Goal}}}, nil
}

// Step calls a tool of the server, once the call is known to fit it. The agent's text ends the episode.
func (e *env) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	switch {
	case e.server == nil:
		return envs.Result{}, rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	case e.done:
		return envs.Result{Content: "closed", Done: true}, nil
	case call.Name == envs.FinalText:
		e.done = true
		if json.Unmarshal(call.Arguments, &e.answer) != nil {
			e.answer = ""
		}
		return envs.Result{Done: true}, nil
	}
	if wrong := e.wrong(call); wrong != "" {
		return envs.Result{Content: wrong}, nil
	}
	key := ""
	if tool, _ := e.world.spec.Tool(call.Name); tool.Effect == envs.ExternalIdempotent {
		key = call.Key
	}
	r, err := e.server.call(ctx, call.Name, e.world.arguments(call.Arguments, e.server.dir), key)
	if err != nil {
		e.lost = true
		return envs.Result{}, err
	}
	return envs.Result{Content: e.world.render(r, e.server.dir)}, nil
}

// wrong says what is wrong with a call, before the server sees it: servers answer an unknown tool by an error, a refusal or a
// success with words in it, and pass over arguments that they do not know.
func (e *env) wrong(call envs.Call) string {
	if wrong := e.world.spec.Refuses(call.ToolCall); wrong != "" {
		return wrong
	}
	if wrong := e.world.validators[call.Name].wrong(call.Name, call.Arguments); wrong != "" {
		return "bad call: " + wrong
	}
	return ""
}

// arguments are a call's as the server gets them.
func (s *Servers) arguments(given json.RawMessage, dir string) json.RawMessage {
	if given == nil {
		return json.RawMessage("{}")
	}
	return meant(given, dir)
}

// render is a result as the agent sees it.
func (s *Servers) render(r *mcp.CallToolResult, dir string) string {
	return s.hide.Replace(shown(text(r), dir))
}

// Snapshot is not possible: what a server knows is its own.
func (e *env) Snapshot(context.Context) ([]byte, error) { return nil, envs.ErrNoSnapshot }

// Restore is not possible.
func (e *env) Restore(context.Context, []byte) error { return envs.ErrNoSnapshot }

func (e *env) Score(ctx context.Context) (rl.Score, error) {
	switch {
	case e.server == nil:
		return rl.Score{}, rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	case e.lost: // also where the episode's own time ended with the call
		return rl.Score{}, rl.Errorf(rl.Unavailable, at, "nobody knows what the episode's last call came to")
	case !e.server.lives(): // nor what it would have written yet
		return rl.Score{}, e.server.lost("the episode was scored", io.EOF)
	}
	return e.score(ctx)
}

// Close gives the server back.
func (e *env) Close() error {
	if s := e.server; s != nil {
		e.server = nil
		e.world.pool.give(s)
	}
	return nil
}

// failed is the error of an episode that got no server: a wait that was cut off is the environment's, too.
func failed(err error) error {
	switch rl.KindOf(err) {
	case "":
		return rl.Errorf(rl.Unavailable, at, "no server was free: %w", err)
	case rl.Invalid: // a program that was there when the world was opened
		return rl.Errorf(rl.Unavailable, at, "%w", err)
	}
	return err
}
