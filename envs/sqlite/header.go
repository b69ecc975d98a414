package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// tool is one file of tools/. Its header is the comments that the file begins with:
//
//	-- Pays back what one item of an order cost.           what the agent is told: all lines before the first key
//	-- effect: episode_local                               or pure: no statement writes
//	-- param order: {"type": "string", "description": "the order's number"}
//	-- param note?: {"type": "string"}                     "?": may be left out, and is NULL then
//	-- none: no such item                                  what is said when the last statement gives no row (default: none)
//	-- cap: 2000                                           longest result shown, in bytes (default 8192)
//	-- timeout: 2s                                         of a call (default 5s)
//	-- ends: yes                                           a call that gives a row, or changes one, ends the episode
//
// The result is the rows of the last statement: a row of one column is its value, of more columns a JSON object; one row a line.
type tool struct {
	envs.Tool
	statements []statement
	parameters []string // in the header's order
	none       string
	ends       bool
}

const (
	defaultCap     = 8192
	defaultTimeout = 5 * time.Second
)

// header is a tool's header while it is read.
type header struct {
	*tool
	keys       map[string]bool // that it has had
	properties []string        // name and schema, as they stand in the JSON schema of the arguments
	required   []string
}

// readTool reads a tool's file. The error names the line.
func readTool(at, name string, source []byte) (*tool, error) {
	t := &tool{Tool: envs.Tool{Tool: rl.Tool{Name: name}, OutputCap: defaultCap, Timeout: defaultTimeout}, none: "none"}
	h := header{tool: t, keys: map[string]bool{}, required: []string{}}
	text, line := string(source), 1
	for ; strings.HasPrefix(text, "--"); line++ {
		var comment string
		comment, text, _ = strings.Cut(text[2:], "\n")
		if err := h.read(strings.TrimSpace(comment)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", at, line, err)
		}
	}
	switch {
	case t.Description == "":
		return nil, fmt.Errorf("%s:1: it must begin with a comment, which is what the agent is told of the tool", at)
	case t.Effect == "":
		return nil, fmt.Errorf("%s:1: its header has no effect: pure or episode_local", at)
	}
	t.Parameters = fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`,
		strings.Join(h.properties, ","), rl.CanonicalJSON(h.required))
	var err error
	t.statements, err = split(at, text, line)
	return t, err
}

// read takes in a line of the header.
func (h *header) read(comment string) error {
	key, value, isKey := strings.Cut(comment, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	word, parameter, _ := strings.Cut(key, " ")
	switch {
	case !isKey || !headerKey(word):
		if len(h.keys) > 0 {
			return fmt.Errorf("%q is no key of a header: effect, param NAME, none, cap, timeout or ends, then a colon", comment)
		}
		h.Description = strings.TrimSpace(h.Description + " " + comment)
		return nil
	case h.keys[key]:
		return fmt.Errorf("a second %q", key)
	}
	h.keys[key] = true
	if word == "param" {
		return h.parameter(parameter, value)
	}
	if err := h.set(word, value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (h *header) parameter(name, schema string) error {
	bare, optional := strings.CutSuffix(name, "?")
	if !validName(bare) || slices.Contains(h.parameters, bare) || !json.Valid([]byte(schema)) || !strings.HasPrefix(schema, "{") {
		return errors.New(`expected "param NAME: {JSON schema}", each name once, such as: -- param order: {"type": "string"}`)
	}
	h.properties = append(h.properties, fmt.Sprintf("%q:%s", bare, schema))
	h.parameters = append(h.parameters, bare)
	if !optional {
		h.required = append(h.required, bare)
	}
	return nil
}

func headerKey(word string) bool {
	switch word {
	case "effect", "param", "none", "cap", "timeout", "ends":
		return true
	}
	return false
}

func (t *tool) set(key, value string) error {
	var err error
	switch key {
	case "effect":
		t.Effect = envs.Effect(value)
		if t.Effect != envs.Pure && t.Effect != envs.EpisodeLocal {
			return fmt.Errorf("%q: expected pure or episode_local, since SQL here reaches nothing outside the episode", value)
		}
	case "none":
		if t.none = value; value == "" {
			return errors.New("expected words: a call never gives nothing")
		}
	case "cap":
		if t.OutputCap, err = strconv.Atoi(value); err != nil || t.OutputCap < 1 || t.OutputCap > mostResult {
			return fmt.Errorf("%q: expected bytes, from 1 to %d", value, mostResult)
		}
	case "timeout":
		if t.Timeout, err = time.ParseDuration(value); err != nil || t.Timeout <= 0 {
			return fmt.Errorf("%q: expected a time such as 2s", value)
		}
	case "ends":
		if t.ends = value == "yes"; !t.ends && value != "no" {
			return fmt.Errorf("%q: expected yes or no", value)
		}
	}
	return nil
}

// validName reports whether a word can name a tool or a parameter: what model servers take.
func validName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || !isName(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
