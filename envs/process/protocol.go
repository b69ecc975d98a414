package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/longhaul-rl/longhaul/rl"
)

// Protocol is the version of the protocol that is spoken here.
const Protocol = 1

// longest is how long a line of a program may be, in bytes.
const longest = 16 << 20

// request is a line to the program. Which fields there are depends on Do.
type request struct {
	ID       int64           `json:"id"`
	Do       string          `json:"do"`
	Protocol int             `json:"protocol,omitempty"`
	Episode  string          `json:"episode,omitempty"`
	Task     *task           `json:"task,omitempty"`
	Call     *call           `json:"call,omitempty"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
}

// task is a task as the program is told of it. The seed follows from split and index, and is below 2^53.
type task struct {
	Split rl.Split `json:"split"`
	Index int      `json:"index"`
	Seed  uint64   `json:"seed"`
}

type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Key       string          `json:"key,omitempty"`
}

// head is what every reply has. With an error it has nothing else.
type head struct {
	ID    *int64  `json:"id"`
	Error *string `json:"error"`
}

// The replies, by what was asked. A close has no more than its head.
type (
	resetReply struct {
		head
		Observation *string `json:"observation"`
	}
	stepReply struct {
		head
		Observation *string `json:"observation"` // may be absent when done
		Done        bool    `json:"done"`
		Reward      float64 `json:"reward"`
	}
	scoreReply struct {
		head
		Score    *float64           `json:"score"`    // or
		Unscored string             `json:"unscored"` // why there is none
		Reason   string             `json:"reason"`
		Metrics  map[string]float64 `json:"metrics"`
	}
	snapshotReply struct {
		head
		Snapshot json.RawMessage `json:"snapshot"`
	}
	referenceReply struct {
		head
		Calls []call `json:"calls"`
	}
)

func (r resetReply) whole() error {
	if r.Observation == nil {
		return errors.New("it has no observation")
	}
	return nil
}

func (r stepReply) whole() error {
	if r.Observation == nil && !r.Done {
		return errors.New("it has no observation, and the episode goes on")
	}
	return nil
}

func (r scoreReply) whole() error {
	if (r.Score == nil) == (r.Unscored == "") {
		return errors.New("it has to have either score or unscored")
	}
	return nil
}

func (r snapshotReply) whole() error {
	if r.Snapshot == nil {
		return errors.New("it has no snapshot")
	}
	return nil
}

func (r referenceReply) whole() error {
	for i, c := range r.Calls {
		if c.Name == "" || c.Arguments == nil {
			return fmt.Errorf("calls[%d] has no name, or no arguments", i)
		}
	}
	return nil
}

func (head) whole() error { return nil }

// reply is a line of the program, read as far as to know whose it is.
type reply struct {
	id   int64
	line []byte
	err  string // the program's own words for what it could not do
}

// parse reads a line. What does not begin as an object does, ok false, is no reply but something that a library prints.
func parse(line []byte) (r reply, ok bool, err error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return r, false, nil
	}
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return r, true, err
	}
	if h.ID == nil {
		return r, true, errors.New("it has no id")
	}
	r = reply{id: *h.ID, line: line}
	if h.Error != nil {
		if r.err = *h.Error; r.err == "" {
			r.err = "an error without words"
		}
	}
	return r, true, nil
}

// into reads the whole of a reply, strictly: a name that is not the protocol's is a mistake that would pass for an absent field.
func (r reply) into(to interface{ whole() error }) error {
	d := json.NewDecoder(bytes.NewReader(r.line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows it on its line")
	}
	return to.whole()
}
