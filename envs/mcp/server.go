package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// server is a session with a server: with a process that is ours, or with one at a URL.
type server struct {
	of      *Servers
	session *mcp.ClientSession
	process *child.Process // nil at a URL
	dir     string         // the agent's directory; empty: the command has no {dir}
	said    *child.Tail    // on its error output
	dropped atomic.Int64   // lines of its output that were no messages

	episodes int         // that it has served or serves; of a shared one, that it serves. The pool's lock guards it
	spoilt   atomic.Bool // nobody knows what state it is in: it serves no other episode
	closing  sync.Once
}

// How long a server has to begin a session (an npx or uvx may install it first), and to end once its input is closed, and once
// more after SIGTERM.
const (
	startPatience = 2 * time.Minute
	endPatience   = 2 * time.Second
)

// initialize is the newest version of the protocol that has sessions.
const initialize = "2025-11-25"

// start begins a session with a new server. Errors: Invalid at env.mcp.command when there is no such program; Refused when it turns the
// request away; Unavailable.
func (of *Servers) start(ctx context.Context) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	s, err := of.begin(ctx, initialize)
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok && said.Code != rejected {
		s, err = of.begin(ctx, "") // it knows nothing but what is newer
	}
	return s, err
}

func (of *Servers) begin(ctx context.Context, version string) (s *server, err error) {
	s = &server{of: of, said: &child.Tail{Keep: saidTail}}
	transport, err := s.transport()
	if err != nil {
		s.close()
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "longhaul", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{}, // roots are none of its business: {dir} says what the agent may use
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	if s.session, err = client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		if answer, ok := errors.AsType[*status](err); ok && answer.key() != "" {
			err = rl.Errorf(rl.Refused, answer.key(), "the server answers %w", answer)
		} else {
			err = s.lost("a session was begun with "+of.called(), err)
		}
		s.close()
		return nil, err
	}
	return s, nil
}

// transport starts the process, where there is one to start.
func (s *server) transport() (_ mcp.Transport, err error) {
	w := s.of
	if w.config.URL != "" {
		return &mcp.StreamableClientTransport{
			Endpoint: w.config.URL, HTTPClient: carrier{w.headers, w.network}.client(), MaxEventSize: maxFrame,
			MaxRetries: -1, DisableStandaloneSSE: true, // a session that broke is not the same any more
		}, nil
	}
	if w.dirs {
		if s.dir, err = child.Dir(); err != nil {
			return nil, rl.Errorf(rl.Unavailable, at, "%w", err)
		}
	}
	words := make([]string, len(w.words))
	for i, word := range w.words {
		words[i] = strings.ReplaceAll(word, "{dir}", s.dir)
	}
	s.process, err = child.Start(child.Command{At: "env.mcp.command", Words: words, Env: w.environ, Stderr: s.said})
	if err != nil {
		return nil, err
	}
	return &mcp.IOTransport{Reader: newFrames(s.process.Stdout, s.drop), Writer: s.process.Stdin, MaxLineLength: -1}, nil
}

// saidTail is how much of a server's error output is told, in bytes: its end, which the words that are kept of an error have room for.
const saidTail = 800

// noise is how many dropped lines of a server are told one by one.
const noise = 3

func (s *server) drop(line []byte, why error) {
	if n := s.dropped.Add(1); n <= noise {
		envs.Log.Warn("an MCP server wrote to its output what is no message; it is dropped", "server", s.process.String(), "line", clip(s.of.hide.Replace(string(line))), "why", why)
	}
}

// keyed is the name under which a server finds what makes a call the same as an earlier one, in the call's _meta.
const keyed = "longhaul/idempotency-key"

// call calls a tool for the agent, with a key where that is not empty. What the server answers is a result, an error of its own
// included. Errors are those of ask.
func (s *server) call(ctx context.Context, tool string, arguments json.RawMessage, key string) (*mcp.CallToolResult, error) {
	p := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	if key != "" {
		p.Meta = mcp.Meta{keyed: key}
	}
	r, refused, err := s.ask(ctx, p)
	if refused != "" {
		r = &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: refused}}}
	}
	return r, err
}

// ask calls a tool, and gives its result or the server's words for why there is none. Errors, Unavailable both: when no answer came
// in time, so that nobody knows whether the call was executed; and when the server or its session is lost.
func (s *server) ask(ctx context.Context, p *mcp.CallToolParams) (r *mcp.CallToolResult, refused string, err error) {
	type outcome struct {
		r   *mcp.CallToolResult
		err error
	}
	over := make(chan outcome, 1)
	go func() {
		r, err := s.session.CallTool(ctx, p)
		over <- outcome{r, err}
	}()
	var o outcome
	select {
	case o = <-over:
	case <-ctx.Done(): // the SDK does not heed it while it writes to a server that does not read
		o.err = ctx.Err()
	}
	if o.err == nil {
		return o.r, "", nil
	}
	if ctx.Err() != nil {
		s.spoilt.Store(true)
		return nil, "", rl.Errorf(rl.Unavailable, at, "%s gave no result in time: %w", p.Name, context.Cause(ctx))
	}
	if said, ok := errors.AsType[*jsonrpc.Error](o.err); ok && said.Code != rejected {
		return nil, cmp.Or(said.Message, "an error without words"), nil
	}
	return nil, "", s.lost(p.Name+" was called", o.err)
}

// rejected is the SDK's own code for a message that the transport did not carry, also where it joins to it what a server said.
const rejected = -32005

// lost is the error of a server or a session that is gone: io.EOF to the call under way, ErrConnectionClosed to later ones.
func (s *server) lost(when string, cause error) error {
	s.spoilt.Store(true)
	how := ""
	if s.process != nil {
		select {
		case <-s.process.Done():
			how = "; the server has ended: " + s.process.Ended()
		case <-time.After(time.Second): // a call hears of the end before the process is seen to have ended
		}
		if said := strings.TrimSpace(s.said.Text(s.of.hide)); said != "" {
			how += "; it said: " + said
		}
	}
	return rl.Errorf(rl.Unavailable, at, "when %s: %w%s", when, s.of.hide.Error(cause), how)
}

// lives reports whether the server has not ended, as far as can be seen.
func (s *server) lives() bool {
	if s.process == nil {
		return true
	}
	select {
	case <-s.process.Done():
		return false
	default:
		return true
	}
}

// close ends the session, and the process with everything that it started. It returns when they are gone.
func (s *server) close() {
	s.closing.Do(func() {
		if s.process != nil {
			grace := endPatience
			if s.spoilt.Load() {
				grace = 0
			}
			s.process.Stop(grace)
		}
		if s.session != nil {
			_ = s.session.Close() // with a server that is gone it fails
		}
		if n := s.dropped.Load(); n > noise {
			envs.Log.Warn("an MCP server wrote to its output what is no message", "server", s.process.String(), "lines", n)
		}
		if s.dir != "" {
			_ = os.RemoveAll(s.dir) // what cannot be removed goes when this process has ended
		}
	})
}
