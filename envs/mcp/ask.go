package mcp

import (
	"context"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

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
