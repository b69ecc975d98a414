package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// ask asks a server for its tools, and what it is.
func (s *Servers) ask(ctx context.Context) error {
	first, err := s.pool.take(ctx)
	if err != nil {
		return err
	}
	defer s.pool.give(first)
	tools, names, err := s.listed(ctx, first)
	if err != nil {
		return err
	}
	about := first.session.InitializeResult()
	s.names, s.spec = names, envs.Spec{System: s.system(about, first.dir), Tools: tools, TextEnds: true}
	s.actions = actions(tools)
	for _, t := range tools {
		if s.validators[t.Name] = newValidator(t.Parameters); s.validators[t.Name] == nil {
			envs.Log.Warn("an MCP tool's schema is of a kind that is not understood; its server alone checks arguments by it", "tool", t.Name)
		}
	}
	if i := about.ServerInfo; i != nil {
		s.Name = strings.TrimSpace(i.Name + " " + i.Version)
	}
	return nil
}

// listed are the tools that the agent gets of a server, and the names of all. Errors: those of tools, Invalid at the server's key when
// it lists none, or too many; Unavailable.
func (s *Servers) listed(ctx context.Context, of *server) ([]envs.Tool, map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	all, err := listed(ctx, of.session)
	said, _ := errors.AsType[*jsonrpc.Error](err)
	switch {
	case err == nil:
		return s.tools(all, of.dir)
	case errors.Is(err, errTools):
		return nil, nil, rl.Errorf(rl.Invalid, s.key(), "%w", err)
	case said != nil && said.Code == jsonrpc.CodeMethodNotFound:
		return nil, nil, rl.Errorf(rl.Invalid, s.key(), "the server has no tools: %w", s.hide.Error(err))
	}
	return nil, nil, of.lost("it was asked for its tools", err)
}

// same checks that a server has the tools that the first had: an update of it in mid-run would change what the agent learns on.
func (s *Servers) same(ctx context.Context, of *server) error {
	if s.actions == nil {
		return nil
	}
	tools, _, err := s.listed(ctx, of)
	if err != nil {
		return err
	}
	if string(actions(tools)) != string(s.actions) {
		return rl.Errorf(rl.Refused, at, "the server has other tools, or other arguments of them, than the one before it")
	}
	return nil
}
