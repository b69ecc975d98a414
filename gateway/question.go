package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// question is what a request asks, whichever API it came by.
type question struct {
	messages []rl.Message
	tools    []rl.Tool
	stop     []string // the answer's text ends before the first of these
	most     int      // tokens of the answer at most; 0: it does not say
	model    string   // whatever the agent calls it
	again    bool     // the client says that it has sent this before
}

// hash names a question that goes on from a turn (nil: from none) with the messages after the known ones. It is named by what it
// means: requests that differ in the API, in the order of an object's members, in spaces, in the ids of calls or in what a framework
// made of the conversation so far are the same question.
func (q question) hash(from *turn, known int) string {
	h := sha256.New()
	if from != nil {
		write(h, "from", from.Request)
		writeMessage(h, from.Action.Message)
	}
	for _, m := range q.messages[known:] {
		writeMessage(h, m)
	}
	for _, t := range q.tools {
		write(h, "tool", t.Name, t.Description, canonical(string(t.Parameters)))
	}
	write(h, append([]string{"limits", strconv.Itoa(q.most)}, q.stop...)...)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func writeMessage(h hash.Hash, m rl.Message) {
	write(h, string(m.Role), text(m.Content))
	for _, c := range m.ToolCalls {
		write(h, "call", c.Name, canonical(arguments(c)))
	}
}

// write adds words to a hash, each with its length: no two lists of words look alike.
func write(h hash.Hash, words ...string) {
	var n [8]byte
	for _, w := range words {
		binary.BigEndian.PutUint64(n[:], uint64(len(w)))
		h.Write(n[:])
		io.WriteString(h, w)
	}
}

// text is a content as it is compared: agents trim it, or not.
func text(content string) string { return strings.TrimSpace(content) }

// arguments are a call's as they go over the wire. Those that could not be read are the reason, which is no JSON either: the
// agent is told what a model did, and decides.
func arguments(c rl.ToolCall) string {
	if c.Invalid != "" {
		return "(" + c.Invalid + ")"
	}
	return string(c.Arguments)
}

// canonical is JSON in one form: members sorted, no spaces, numbers as a double prints. Agents in JavaScript and Python read and
// write arguments again, which loses no more than this does. What is no JSON stays as it is, trimmed.
func canonical(raw string) string {
	d := json.NewDecoder(strings.NewReader(raw))
	var v any
	if d.Decode(&v) != nil || d.More() {
		return text(raw)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return text(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
