package rl

import (
	"fmt"
	"slices"
)

// TrajectorySchema is the version of the trajectory's JSON form.
const TrajectorySchema = "longhaul/trajectory/1"

// Observation is what the policy saw new in a turn: the task's prompt, or the results of its last calls.
type Observation struct {
	Messages []Message `json:"messages"`
}

// Action is what the policy sampled in a turn.
//
// The served prompt of a turn is kept as a difference: it begins with the first Kept tokens of the sequence
// that the turn which it goes on from (Parent; mostly the turn before) ended with (its prompt and its action), followed by
// Prompt. When the whole of that sequence is kept, both turns belong to one training row; otherwise the history was changed and
// a new row begins.
type Action struct {
	Message Message `json:"message"`
	Version Version `json:"version"` // the policy that sampled it
	Seed    uint64  `json:"seed"`    // the sampling seed that was sent
	Finish  string  `json:"finish"`  // the server's finish_reason: stop, tool_calls, length
	Kept    int     `json:"kept"`    // leading tokens shared with the sequence of the turn it goes on from
	Prompt  []int32 `json:"prompt"`  // prompt token ids after the kept ones
	Tokens  []int32 `json:"tokens"`  // sampled token ids, as served
	// LogProbs has one natural logarithm per token, of the distribution that was sampled from (the temperature
	// applied). Nil when the server gave none: such an action cannot be trained on.
	LogProbs []float32 `json:"logprobs"`
}

// Turn is one exchange: what was seen, what was done, what it earned at once (environments with a reward per
// turn; 0 elsewhere).
type Turn struct {
	Observation Observation `json:"observation"`
	Action      Action      `json:"action"`
	Reward      float64     `json:"reward,omitempty"`
	// From is the turn whose conversation this one goes on from, where that is not the turn before: an agent may lead several
	// (sub-agents, a history that it has shortened). -1: none, a conversation begins.
	From *int `json:"from,omitempty"`
	// Request is the hash of the request that asked for the turn, where an agent asked for it over HTTP; see package gateway.
	Request string `json:"request,omitempty"`
	// Repeat is how often the agent had asked the same before, for several answers to choose from.
	Repeat int `json:"repeat,omitempty"`
}

// Parent is the turn that turn i of turns goes on from; -1: a conversation begins with it. Of a damaged record it is no turn
// before i.
func Parent(turns []Turn, i int) int {
	if from := turns[i].From; from != nil {
		return *from
	}
	return i - 1
}

// Elsewhere says in words where a turn goes on from, when that is not the turn before; else it is empty.
func (t Turn) Elsewhere() string {
	switch {
	case t.From == nil:
		return ""
	case *t.From < 0:
		return "[another conversation of the agent begins]"
	}
	return fmt.Sprintf("[the conversation goes on from turn %d another way]", *t.From+1)
}

// StopReason says why an episode ended.
type StopReason string

const (
	Answered     StopReason = "answered"      // terminated: the environment said so
	MaxTurns     StopReason = "max_turns"     // truncated: the turn limit
	ContextLimit StopReason = "context_limit" // truncated: the policy's context is full
	Timeout      StopReason = "timeout"       // truncated: the episode's deadline
	AgentFailed  StopReason = "agent_failed"  // terminated: the agent's own program gave up
	EmptyAction  StopReason = "empty_action"  // terminated: the policy said nothing
	EndOfRecord  StopReason = "end_of_record" // an exact replay: nothing more is recorded
)

// Truncated reports whether the episode was cut off rather than ended by the agent.
func (r StopReason) Truncated() bool { return r == MaxTurns || r == ContextLimit || r == Timeout }

// PolicySpan is the first and last version that sampled a trajectory; they differ only when a new version was
// published in mid-episode.
type PolicySpan struct {
	First Version `json:"first"`
	Last  Version `json:"last"`
}

// Trajectory is the record of one episode. Its JSON form holds no clock readings: the same seeds give the same
// bytes, whoever ran it and however often it was resumed.
type Trajectory struct {
	Schema  string      `json:"schema"`
	Episode EpisodeID   `json:"episode"`
	Task    Task        `json:"task"`
	Policy  PolicySpan  `json:"policy"`
	Turns   []Turn      `json:"turns"`
	Closing Observation `json:"closing"` // results of the last action; no action followed
	Stop    StopReason  `json:"stop"`
	Outcome Score       `json:"outcome"` // the environment's own score
}

// ActionTokens counts the sampled tokens.
func (t Trajectory) ActionTokens() (n int) {
	for _, turn := range t.Turns {
		n += len(turn.Action.Tokens)
	}
	return n
}

// Messages is the conversation as it was rendered to the policy, closing results included. Where there are several, a user
// message between them says so.
func (t Trajectory) Messages() (out []Message) {
	for _, turn := range t.Turns {
		if words := turn.Elsewhere(); words != "" {
			out = append(out, Message{Role: User, Content: words})
		}
		out = append(append(out, turn.Observation.Messages...), turn.Action.Message)
	}
	return append(out, t.Closing.Messages...)
}

// Sequence is the token sequence a turn ended with: prompt and action.
func Sequence(previous []int32, a Action) []int32 {
	return slices.Concat(previous[:a.Kept], a.Prompt, a.Tokens)
}
