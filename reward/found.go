package reward

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// answer is the part of a reply that counts. A reply that is JSON as a whole has no thinking part, whatever its reasons quote.
func answer(reply string) (string, error) {
	if !json.Valid([]byte(reply)) {
		at := strings.LastIndex(reply, thoughtEnds)
		if at >= 0 {
			reply = reply[at+len(thoughtEnds):]
		} else if strings.HasPrefix(strings.TrimSpace(reply), "<think>") {
			return "", errors.New("the thinking has no end, and nothing comes after it")
		}
	}
	switch {
	case strings.TrimSpace(reply) == "":
		return "", errors.New("the reply is empty")
	case len(reply) > maxAnswer:
		return "", fmt.Errorf("the reply has %d bytes, which is too long for one", len(reply))
	}
	return reply, nil
}

const thoughtEnds = "</think>"

// maxAnswer bounds what is read of a reply, its thinking aside, in bytes: a model that has lost its way writes on to its limit, and
// some servers hold to none.
const maxAnswer = 1 << 20

// maxBeginnings bounds the work on a reply that is nonsense: beginnings of objects that are none.
const maxBeginnings = 100

// Find is the one JSON object in a model's reply that has a member of that name. It may stand in a code fence or between words, and
// after a thinking part that ends with </think>. The error says in words for the model what is wrong. Nothing is guessed.
func Find(reply, name string) (json.RawMessage, error) {
	reply, err := answer(reply)
	if err != nil {
		return nil, err
	}
	found, err := objects(reply, name)
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no JSON object with %q in it", name)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("there are different JSON objects with %q; give one", name)
}

// objects finds the distinct JSON objects in a text that have a member of that name, the first two at most: more are no better.
// Beginnings of objects that are none are passed over, except where they begin with the name.
func objects(text, name string) (found []json.RawMessage, err error) {
	for at, failed := 0, 0; failed < maxBeginnings && len(found) < 2; {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			break
		}
		at += i
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		if e := d.Decode(&raw); e != nil {
			err = fmt.Errorf("the JSON that begins %q cannot be read: %w", beginning(text[at:]), e)
			if strings.HasPrefix(strings.TrimLeft(text[at+1:], " \t\r\n"), `"`+name+`"`) {
				return nil, err // whatever stands in it may be quoted from an attempt
			}
			at, failed = at+1, failed+1
			continue
		}
		at += int(d.InputOffset())
		members, e := Members(raw)
		if e != nil {
			return nil, e
		}
		if _, has := members[name]; has && !slices.ContainsFunc(found, func(o json.RawMessage) bool { return bytes.Equal(compacted(o), compacted(raw)) }) {
			found = append(found, raw)
		}
	}
	if len(found) > 0 {
		err = nil
	}
	return found, err
}

func compacted(raw json.RawMessage) []byte { return []byte(compact(raw)) }

func beginning(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// Members are the members of a JSON object. A name given twice is an error: which of the two counts would be a guess.
func Members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s is no JSON object", beginning(string(raw)))
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if _, again := out[name]; again {
			return nil, fmt.Errorf("%q is given twice in one object", beginning(name))
		}
		out[name] = value
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		return nil, err
	}
	return out, nil
}
