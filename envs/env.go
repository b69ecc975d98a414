package envs

import (
	"context"
	"errors"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Env runs one episode at a time. It is used by one goroutine and is cheap to make; what is costly starts in Reset.
//
// Whatever the model did (an unknown id, arguments of the wrong type, a call at the wrong time) is answered by a
// Result. An error means infrastructure: the episode is given up and never scored. Errors are *rl.Error with At
// "environment NAME"; Unavailable ones may pass when the episode is tried again. Methods return soon after ctx ends.
type Env interface {
	// Spec says what the agent is told and may call. It is the same for all tasks of a world.
	Spec() Spec
	// Reset starts the episode of a task, whatever came before, and returns the first messages (without the
	// system message). A task that is not of this world is Invalid.
	Reset(ctx context.Context, task rl.Task) (rl.Observation, error)
	// Step executes one call of a tool of the Spec. Arguments are those of the model, checked against the tool's
	// schema by the caller or not. Step before Reset is Invalid.
	Step(ctx context.Context, call Call) (Result, error)
	// Snapshot is the episode's state, for Restore on another Env of the same world to go on from identically.
	// ErrNoSnapshot when the world cannot do that.
	Snapshot(ctx context.Context) ([]byte, error)
	// Restore goes on from a snapshot in place of Reset. Bytes that are no snapshot are Corrupt.
	Restore(ctx context.Context, snapshot []byte) error
	// Score rates the episode as it stands, also one that was cut off.
	Score(ctx context.Context) (rl.Score, error)
	// Close gives everything back. Closing twice is no error.
	Close() error
}

// ErrNoSnapshot is what Snapshot and Restore return in a world without snapshots: its episodes are resumed by
// replaying their calls.
var ErrNoSnapshot = errors.New("this environment has no snapshots")

// Effect says what a tool call changes, and so what may be done when it is not known whether a call was executed.
type Effect string

const (
	Pure               Effect = "pure"                // changes nothing, in the episode neither: run it again
	EpisodeLocal       Effect = "episode_local"       // changes the episode only: replay the episode; also when empty
	ExternalIdempotent Effect = "external_idempotent" // changes the outside only, once per key: send it again
	ExternalOnce       Effect = "external_once"       // changes the outside only, and must not be repeated: ask, or void the episode
)

// Local reports whether a call changes the state of the episode.
func (e Effect) Local() bool { return e == EpisodeLocal || e == "" }

// External reports whether a call changes something outside the episode.
func (e Effect) External() bool { return e == ExternalIdempotent || e == ExternalOnce }

// Call is one call of a tool.
type Call struct {
	rl.ToolCall
	// Key is the same however often this call is sent, and no other call's: RUN/UPDATE/TASK/MEMBER/TURN/INDEX. The
	// model's own ToolCall.ID is only for rendering.
	Key string
}

// Spec is the agent's side of an Env.
type Spec struct {
	System string // the system message; may be empty
	Tools  []Tool
	// TextEnds: a message without a tool call is the agent's final answer. It reaches Step as a call named
	// FinalText, with the text as a JSON string.
	TextEnds bool
	// NoCall is the user message that answers a message without a tool call, where text does not end the episode.
	// Empty: the rollout's own words, which list the tools.
	NoCall string
	// ScoreTimeout bounds Score, where that takes longer than a turn; 0: the run's turn_timeout.
	ScoreTimeout time.Duration
}

// FinalText names the call that carries the agent's final answer (see Spec.TextEnds).
const FinalText = "final_text"

// Tool is a function that the agent may call, and how its calls are run.
type Tool struct {
	rl.Tool
	Timeout   time.Duration // of one call; 0: the run's turn_timeout
	OutputCap int           // longest result shown to the policy, in bytes; 0: any
	Effect    Effect
	// Outcome asks the outside, or a person, what became of an ExternalOnce call whose answer was lost: executed is
	// false when it certainly was not, and may be sent. Nil: nobody knows, and the episode is voided.
	Outcome func(ctx context.Context, call Call) (r Result, executed bool, err error) `json:"-"`
}

// Tool finds a tool by its name.
func (s Spec) Tool(name string) (Tool, bool) {
	for _, t := range s.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Result is what a call gave.
type Result struct {
	Content string  // shown to the policy; may be empty when Done
	Done    bool    // the episode has ended
	Reward  float64 // earned by this call at once, in worlds with a reward per turn
}
