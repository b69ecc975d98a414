package reward

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// verdict is what a judge says of one attempt.
type verdict struct {
	score  float64 // in [0,1]
	reason string
	turns  []float64 // in [0,1], by turn; nil where not asked for
}

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 300

// verdicts reads a judge's reply: by id, exactly one verdict for each that was asked about. turns has the number of turns of
// each where contributions were asked for; nil: they were not.
//
// The error says in words for the judge what is wrong: an id that is missing, unknown or given twice, a score that is absent, no
// number or outside of [0,1], two different verdicts in one reply (see Find).
func verdicts(reply string, ids []string, turns map[string]int) (map[string]verdict, error) {
	object, err := Find(reply, "scores")
	if err != nil {
		return nil, err
	}
	return read(object, ids, turns)
}

// maxFaults bounds how many faults of a reply are named.
const maxFaults = 20

// read takes the verdicts from the object. All that is wrong is said at once.
func read(object json.RawMessage, ids []string, turns map[string]int) (map[string]verdict, error) {
	members, err := Members(object)
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(members["scores"], &entries); err != nil || entries == nil {
		return nil, errors.New(`"scores" is not a list`)
	}
	out, told := map[string]verdict{}, map[string]bool{}
	var wrong []string
	for _, e := range entries {
		id, v, err := entry(e, ids, turns)
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case told[id]:
			wrong = append(wrong, fmt.Sprintf("id %q is given twice", id))
		}
		out[id], told[id] = v, true
	}
	for _, id := range sorted(ids) {
		if !told[id] {
			wrong = append(wrong, fmt.Sprintf("id %q is missing", id))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong[:min(len(wrong), maxFaults)], "; "))
	}
	return out, nil
}

func entry(raw json.RawMessage, ids []string, turns map[string]int) (id string, v verdict, err error) {
	members, err := Members(raw)
	if err != nil {
		return "", v, err
	}
	if members["id"] == nil {
		return "", v, errors.New("an entry has no id")
	}
	if err := json.Unmarshal(members["id"], &id); err != nil || !slices.Contains(ids, id) {
		return "", v, fmt.Errorf("the id %s is none of those asked about", beginning(string(members["id"])))
	}
	if v.score, err = unit(members["score"]); err != nil {
		return id, v, fmt.Errorf("the score of id %q %w", id, err)
	}
	if json.Unmarshal(members["reason"], &v.reason) == nil { // a missing one is no fault
		v.reason = cut(v.reason, maxReason)
	}
	if turns == nil {
		return id, v, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(members["turns"], &parts); err != nil || len(parts) != turns[id] {
		return id, v, fmt.Errorf(`"turns" of id %q is not a list of %d numbers`, id, turns[id])
	}
	for i, p := range parts {
		x, err := unit(p)
		if err != nil {
			return id, v, fmt.Errorf("turn %d of id %q %w", i, id, err)
		}
		v.turns = append(v.turns, x)
	}
	return id, v, nil
}

// unit reads a JSON number in [0,1]. Text that looks like one is not one.
func unit(raw json.RawMessage) (float64, error) {
	s := strings.TrimSpace(string(raw))
	if s == "" || s == "null" {
		return 0, errors.New("is absent")
	}
	if s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, fmt.Errorf("is not a number: %s", beginning(s))
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("is not between 0 and 1: %s", beginning(s))
	}
	return x + 0, nil // no -0
}

// cut shortens a text to so many bytes, valid UTF-8.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}
