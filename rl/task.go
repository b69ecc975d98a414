package rl

import "encoding/json"

// Split says which tasks a policy may train on. Environments keep the two disjoint by construction.
type Split string

const (
	Train Split = "train"
	Eval  Split = "eval"
)

// Task is one problem for one environment. Everything about it follows from Env, Split and Index.
type Task struct {
	ID    TaskID `json:"id"`
	Env   string `json:"env"`
	Split Split  `json:"split"`
	Index int    `json:"index"`
	// Kind labels the task for per-kind success in evaluations, for example "fragile". May be empty.
	Kind string `json:"kind,omitempty"`
}

// Tool is a function that the agent may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // JSON schema of the arguments object
}

// Role is the author of a message, in the chat-completions sense.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one chat message. Arguments of calls stay raw, so numbers keep their digits.
type Message struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"` // on tool messages, for rendering only
}

// ToolCall is one call that an action asks for. Calls are paired with their results by turn and index;
// the model's own ID is kept for rendering only, since ids repeat in the wild.
type ToolCall struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is the JSON value the model gave, or nil when it could not be parsed.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Invalid says why the call could not be parsed. Such a call is never executed; its text is the observation.
	Invalid string `json:"invalid,omitempty"`
}

// WarmUp tasks are what demonstrations show: the easiest ones, disjoint from Eval.
const WarmUp Split = "warm_up"

// Demonstration is a conversation to imitate. Imitate has one entry per message: only assistant messages with
// true are learnt from; the others are context (a demonstrator's slip is shown, not imitated).
type Demonstration struct {
	Messages []Message `json:"messages"`
	Imitate  []bool    `json:"imitate"`
}
