package openenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// How long a reset waits before it asks the next server, at first and at most.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// env plays an episode in a session on one of the world's servers.
type env struct {
	world   *world
	place   *server // of the session
	session *session
	open    bool // an episode was reset, whatever became of its session
	done    bool
	sum     float64
	last    *float64 // the last reward that was given
}

func (e *env) Spec() envs.Spec { return e.world.spec }

// Reset begins the task in a new session: on the server that is next, or the one after while that is full or away.
func (e *env) Reset(ctx context.Context, task rl.Task) (rl.Observation, error) {
	e.Close()
	line, known := e.world.tasks.line(task.Split, task.Index)
	if !known || task != e.world.tasks.task(task.Split, task.Index) {
		return rl.Observation{}, rl.Errorf(rl.Invalid, at, "%+v is not a task of this world", task)
	}
	limit := time.Duration(e.world.config.ResetTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	told := request{Type: "reset", Data: e.world.tasks.reset(task)}
	var why error // it was not begun; of an attempt that the end of the time cuts short that end is all there is to tell
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		s, err := e.begin(ctx, told)
		if err == nil {
			*e = env{world: e.world, place: e.place, session: e.session, open: true, done: s.done}
			said := cut(render(s.observation, e.world.show), e.world.config.OutputBytes)
			if line.Goal != "" {
				said = line.Goal + "\n\n" + said
			}
			return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: said}}}, nil
		}
		if !passing(err) {
			return rl.Observation{}, err
		}
		if why == nil || ctx.Err() == nil {
			why = err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return rl.Observation{}, rl.Errorf(rl.Unavailable, at, "no session within %s: %w", limit, why)
		}
	}
}

// begin resets a world in a new session on the next server. An error leaves no session.
func (e *env) begin(ctx context.Context, told request) (state, error) {
	select {
	case e.place = <-e.world.places:
	case <-ctx.Done():
		return state{}, rl.Errorf(rl.Unavailable, at, "all sessions are taken by other episodes: %w", context.Cause(ctx))
	}
	var s state
	var err error
	if e.session, err = dial(ctx, e.place); err == nil {
		if s, err = e.session.ask(ctx, told); err != nil {
			err = e.broken("reset", err)
		}
	}
	if err != nil {
		e.leave()
	}
	return s, err
}

// passing reports whether another server, or this one a little later, may well begin the episode.
func passing(err error) bool {
	f, said := errors.AsType[failure](err)
	return said && f.code == capacityReached || !said && rl.KindOf(err) == rl.Unavailable
}

// broken is the error of a request that left the session, or what is known of its world, in pieces.
func (e *env) broken(what string, err error) error {
	return rl.Errorf(rl.Unavailable, at, "%s: %s: %w", e.place.url, what, e.place.hide.Error(err))
}

// Step sends the arguments as an action. What the server refuses before it acts is an observation. A step that fails in its
// code may have happened or not: the world is given up, unless the configuration calls that an answer.
func (e *env) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	switch wrong := e.unfit(call.ToolCall); {
	case !e.open:
		return envs.Result{}, rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	case e.done:
		return envs.Result{Content: "closed", Done: true}, nil
	case wrong != "":
		return envs.Result{Content: wrong}, nil
	case e.session == nil:
		return envs.Result{}, rl.Errorf(rl.Unavailable, at, "the episode's session is lost")
	}
	s, err := e.session.ask(ctx, request{Type: "step", Data: call.Arguments})
	f, said := errors.AsType[failure](err)
	switch {
	case err == nil:
		return e.take(s), nil
	case said && f.code == validationError:
		return envs.Result{Content: "refused: " + e.place.hide.Replace(f.message)}, nil
	case said && f.code == executionError && e.world.config.Failed == "observation":
		return envs.Result{Content: "failed: " + e.place.hide.Replace(f.message)}, nil
	}
	err = e.broken(call.Name, err)
	e.leave()
	return envs.Result{}, err
}

// unfit says why a call is no action that can be sent.
func (e *env) unfit(call rl.ToolCall) string {
	if wrong := e.world.spec.Refuses(call); wrong != "" {
		return wrong
	}
	if wrong := unfit(call.Arguments); wrong != "" {
		return "bad call: " + wrong
	}
	return ""
}

// take counts what the server says of a step.
func (e *env) take(s state) envs.Result {
	r := envs.Result{Content: render(s.observation, e.world.show), Done: s.done}
	e.done = s.done
	if s.reward != nil {
		r.Reward, e.last = *s.reward, s.reward
		e.sum += *s.reward
	}
	return r
}

// Snapshot is not possible: a server's world lives in its process.
func (e *env) Snapshot(context.Context) ([]byte, error) {
	if !e.open {
		return nil, rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	}
	return nil, envs.ErrNoSnapshot
}

// Restore is not possible either.
func (e *env) Restore(context.Context, []byte) error { return envs.ErrNoSnapshot }

// Score is the sum of the steps' rewards, or the last of them. An episode that the server ended without ever giving one has none.
func (e *env) Score(context.Context) (rl.Score, error) {
	switch {
	case !e.open:
		return rl.Score{}, rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	case e.session == nil && !e.done: // nobody knows what the step under way came to
		return rl.Score{}, rl.Errorf(rl.Unavailable, at, "the episode's session is lost")
	case e.last == nil && e.done:
		return rl.Score{Unscored: "the server gave no reward"}, nil
	case e.last == nil:
		return rl.Score{Reason: "no reward came before the episode was cut off"}, nil
	case e.world.config.Score == "last":
		return rl.Score{Value: *e.last}, nil
	}
	return rl.Score{Value: e.sum}, nil
}

// Close ends the session, so that the server has room for another.
func (e *env) Close() error {
	if e.session != nil {
		e.session.close()
		e.session = nil
	}
	e.leave()
	e.open = false
	return nil
}

// leave gives up the session, if there is one, and its place.
func (e *env) leave() {
	if e.session != nil {
		e.session.abandon()
		e.session = nil
	}
	if e.place != nil {
		e.world.places <- e.place
		e.place = nil
	}
}

// cut is a text of at most limit bytes, saying so where it was longer.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	kept := strings.ToValidUTF8(s[:limit], "")
	return fmt.Sprintf("%s\n[truncated: %d of %d bytes]", kept, len(kept), len(s))
}
