package store

import (
	"bytes"
	"encoding/json"

	"github.com/longhaul-rl/longhaul/rl"
)

// segmentHead is the first line of a segment.
type segmentHead struct {
	Schema string `json:"schema"`
	SHA256 string `json:"sha256"` // of the lines after it
}

const segmentSchema = "longhaul/journal/1"

func encodeSegment(lines []byte) []byte {
	head, _ := encode("", segmentHead{segmentSchema, SHA256(lines)}) // two strings
	return append(append(head, '\n'), lines...)
}

// DecodeSegment reads a journal's segment; key names it in errors. Errors: Corrupt.
func DecodeSegment(key string, body []byte) (entries []rl.Entry, err error) {
	first, lines, _ := bytes.Cut(body, []byte("\n"))
	head, err := decode[segmentHead](key, first)
	switch {
	case err != nil:
		return nil, err
	case head.Schema != segmentSchema:
		return nil, rl.Errorf(rl.Corrupt, at(key), "its schema is %q, not %q", head.Schema, segmentSchema)
	case head.SHA256 != SHA256(lines):
		return nil, rl.Errorf(rl.Corrupt, at(key), "its lines are not those that were written")
	}
	n := 1
	for line := range bytes.Lines(lines) {
		n++
		var e rl.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, rl.Errorf(rl.Corrupt, at(key), "line %d: %w", n, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
