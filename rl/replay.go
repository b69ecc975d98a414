package rl

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Failure is the recorded end of an episode that has no trajectory.
type Failure struct {
	LeftOut LeftOut `json:"left_out"`
	Why     string  `json:"why"`
}

// ReplaySpec asks for an episode to be done again, beside the original.
type ReplaySpec struct {
	Of EpisodeID `json:"of"`
	// Number tells the replays of one episode apart: 1, 2, ...
	Number int `json:"number"`
	// Recorded is how many turns are served from the record of the original.
	Recorded int `json:"recorded"`
	// Exact: nothing is sampled. The episode ends where what is recorded does.
	Exact   bool    `json:"exact,omitempty"`
	Version Version `json:"version"` // samples the other turns
	// Try is 0 for the original's sampling seeds, else others.
	Try int `json:"try,omitempty"`
}

// Replay is an episode that was done again: its lineage and what it came to. It never changes the original.
type Replay struct {
	Schema string `json:"schema"` // ReplaySchema
	ReplaySpec
	Time       time.Time   `json:"time"`
	Original   string      `json:"original"`             // the stop reason or failure of the original, "" when it has not ended
	Trajectory *Ref        `json:"trajectory,omitempty"` // what was made, unless it failed
	Stop       StopReason  `json:"stop,omitempty"`
	Turns      int         `json:"turns"` // taken
	Outcome    *Score      `json:"outcome,omitempty"`
	Failure    *Failure    `json:"failure,omitempty"`
	Parts      *Divergence `json:"parts,omitempty"` // nil: as far as both go, they are the same
}

// ReplaySchema is the version of the Replay JSON form.
const ReplaySchema = "longhaul/replay/1"

// Divergence is the first turn in which two records of an episode differ, from 0.
type Divergence struct {
	Turn int    `json:"turn"`
	What string `json:"what"` // observation or action
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// Parts finds the first turn in which the turns of a replay differ from those of the original, as far as both go. The
// closing observations are compared where they are given: what the last turn led to.
func Parts(was, is []Turn, wasClosing, isClosing *Observation) *Divergence {
	for i := range min(len(was), len(is)) {
		if d := Diverged(i, "observation", unnamed(was[i].Observation.Messages), unnamed(is[i].Observation.Messages)); d != nil {
			return d
		}
		if d := Diverged(i, "action", unnamed([]Message{was[i].Action.Message}), unnamed([]Message{is[i].Action.Message})); d != nil {
			return d
		}
	}
	n := min(len(was), len(is))
	after := func(turns []Turn, closing *Observation) *Observation {
		if len(turns) > n {
			return &turns[n].Observation
		}
		return closing
	}
	if a, b := after(was, wasClosing), after(is, isClosing); a != nil && b != nil {
		return Diverged(n, "observation", unnamed(a.Messages), unnamed(b.Messages))
	}
	return nil
}

// unnamed is messages without the ids of their tool calls, which are drawn anew with every sampling.
func unnamed(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].ToolCallID = ""
		out[i].ToolCalls = slices.Clone(out[i].ToolCalls)
		for j := range out[i].ToolCalls {
			out[i].ToolCalls[j].ID = ""
		}
	}
	return out
}

// Diverged compares what was in a turn with what is; nil when both are the same.
func Diverged[V any](turn int, what string, was, is V) *Divergence {
	a, b := string(CanonicalJSON(was)), string(CanonicalJSON(is))
	if a == b {
		return nil
	}
	return &Divergence{turn, what, brief(a), brief(b)}
}

// Error is the divergence in words.
func (d *Divergence) Error() string {
	return fmt.Sprintf("turn %d: the %s was %s, and now is %s", d.Turn, d.What, d.Was, d.Is)
}

// brief bounds the words of a divergence.
func brief(s string) string {
	const most = 512
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " ..."
}
