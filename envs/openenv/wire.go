package openenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// The codes of a server's errors.
const (
	validationError = "VALIDATION_ERROR" // the action was refused
	executionError  = "EXECUTION_ERROR"  // the environment's code failed: the step may have happened, in part or whole
	capacityReached = "CAPACITY_REACHED" // all sessions are taken
)

// request is a message to a server.
type request struct {
	Type string          `json:"type"` // reset, step or close
	Data json.RawMessage `json:"data,omitempty"`
}

// state is what a server says of an episode after a reset or a step.
type state struct {
	observation json.RawMessage
	reward      *float64 // nil: none was given
	done        bool
}

// failure is a server's answer that something went wrong.
type failure struct{ code, message string }

func (f failure) Error() string { return f.code + ": " + f.message }

// parse reads a server's answer. An error that the server reports is a failure; any other error means that these bytes are
// no answer to a reset or a step.
func parse(message []byte) (state, error) {
	var envelope struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(message, &envelope); err != nil {
		return state{}, fmt.Errorf("%.200q is no message: %w", message, err)
	}
	switch envelope.Type {
	case "observation":
		return parseState(envelope.Data)
	case "error":
		return state{}, parseFailure(envelope.Data)
	}
	return state{}, fmt.Errorf("a message of type %.64q, where an observation was due", envelope.Type)
}

func parseState(data json.RawMessage) (state, error) {
	var s struct {
		Observation json.RawMessage `json:"observation"`
		Reward      json.RawMessage `json:"reward"`
		Done        bool            `json:"done"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, fmt.Errorf("%.200q is no observation: %w", data, err)
	}
	reward, err := parseReward(s.Reward)
	return state{s.Observation, reward, s.Done}, err
}

// parseReward reads a number, a truth value, which counts 1 or 0, or null.
func parseReward(raw json.RawMessage) (*float64, error) {
	var v float64
	switch text := string(raw); text {
	case "", "null":
		return nil, nil
	case "true":
		v = 1
	case "false":
	default:
		if err := json.Unmarshal(raw, &v); err != nil || math.IsNaN(v) || !rl.Countable(v) {
			return nil, fmt.Errorf("the reward %.64s is no number to learn from", raw)
		}
	}
	return &v, nil
}

// parseFailure reads an error; of a refused action it keeps what is wrong with which field.
func parseFailure(data json.RawMessage) error {
	var e struct {
		Code, Message string
		Errors        []struct {
			Loc []any  `json:"loc"`
			Msg string `json:"msg"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(data, &e); err != nil || e.Code == "" {
		return fmt.Errorf("%.200q is no error", data)
	}
	for _, one := range e.Errors {
		var at []string
		for _, part := range one.Loc {
			at = append(at, fmt.Sprint(part))
		}
		e.Message += fmt.Sprintf("; %s: %s", strings.Join(at, "."), one.Msg)
	}
	return failure{e.Code, e.Message}
}

// field is one field of a JSON object, as it was written.
type field struct {
	name  string
	value json.RawMessage
}

// fields are those of an object, in the order in which they stand there; ok is false for any other value.
func fields(object json.RawMessage) (out []field, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		f := field{name: name.(string)} // a key: the decoder takes nothing else there
		if err := d.Decode(&f.value); err != nil {
			return nil, false
		}
		out = append(out, f)
	}
	return out, true
}

// render is an observation as the agent sees it: the fields named by show, or without any all but metadata. One field that
// is a text stands there as it is; more are a JSON object, their numbers digit for digit.
func render(observation json.RawMessage, show []string) string {
	all, ok := fields(observation)
	if !ok {
		return text(observation)
	}
	var kept []field
	for _, f := range all {
		if len(show) == 0 && f.name != "metadata" || slices.Contains(show, f.name) {
			kept = append(kept, f)
		}
	}
	if len(kept) == 1 {
		return text(kept[0].value)
	}
	return string(object(kept))
}

// object is an object of fields, in their order.
func object(all []field) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(rl.CanonicalJSON(f.name))
		b.WriteByte(':')
		if err := json.Compact(&b, f.value); err != nil {
			panic(err) // a decoder took it
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// text is a JSON string's content, and any other value as it is written.
func text(value json.RawMessage) string {
	var s *string
	if json.Unmarshal(value, &s) == nil && s != nil { // null is no string
		return *s
	}
	return string(value)
}
