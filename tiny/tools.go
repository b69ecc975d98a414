package tiny

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// tool is what the template needs of a tool: a call reads VERB ARGUMENT.
type tool struct {
	name      string
	verb      string   // the name up to its first "_": find_order -> find
	arguments []string // the string properties of its parameters, in the schema's order
}

// toolbox is the tools of a request. Where two have one verb, the first is meant.
type toolbox []tool

// readTools fails on parameters that are no JSON schema of an object.
func readTools(tools []rl.Tool) (toolbox, error) {
	box := make(toolbox, len(tools))
	for i, t := range tools {
		box[i].name = t.Name
		box[i].verb = verbOf(t.Name)
		err := members(t.Parameters, func(key string, value json.RawMessage) error {
			if key != "properties" {
				return nil
			}
			return members(value, func(name string, schema json.RawMessage) error {
				var s struct{ Type json.RawMessage }
				if json.Unmarshal(schema, &s) == nil && string(s.Type) == `"string"` {
					box[i].arguments = append(box[i].arguments, name)
				}
				return nil
			})
		})
		if err != nil {
			return nil, fmt.Errorf("the parameters of tool %q are no JSON schema of an object: %w", t.Name, err)
		}
	}
	return box, nil
}

func verbOf(name string) string {
	if verb, _, _ := strings.Cut(name, "_"); verb != "" {
		return verb
	}
	return name
}

// members calls f with the members of a JSON object in their order. No JSON at all is an empty object.
func members(object json.RawMessage, f func(key string, value json.RawMessage) error) error {
	if len(object) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("not an object: %.40s", object)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(key.(string), value); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (b toolbox) byName(name string) (tool, bool) {
	for _, t := range b {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}

func (b toolbox) byVerb(verb string) (tool, bool) {
	for _, t := range b {
		if t.verb == verb {
			return t, true
		}
	}
	return tool{}, false
}

// line renders a call: the verb, then the values of the tool's arguments. A call of a tool that is not in the box
// is its verb alone.
func (b toolbox) line(call rl.ToolCall) string {
	verb := verbOf(call.Name)
	t, ok := b.byName(call.Name)
	if !ok {
		return verb
	}
	var given map[string]json.RawMessage
	json.Unmarshal(call.Arguments, &given) // arguments that are no object: the verb alone
	for _, name := range t.arguments {
		value, ok := given[name]
		if !ok {
			continue
		}
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		verb += " " + s
	}
	return verb
}

// call reads what line wrote; ok is false for any other text. All arguments but the last are single words.
func (b toolbox) call(line string) (c rl.ToolCall, ok bool) {
	verb, rest, _ := strings.Cut(line, " ")
	t, ok := b.byVerb(verb)
	rest = strings.TrimSpace(rest)
	if !ok || len(t.arguments) == 0 && rest != "" {
		return c, false
	}
	object := []byte{'{'}
	for i, name := range t.arguments {
		if rest == "" {
			break
		}
		value, left := rest, ""
		if i < len(t.arguments)-1 {
			value, left, _ = strings.Cut(rest, " ")
		}
		rest = strings.TrimSpace(left)
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, quoted(name)...), ':'), quoted(value)...)
	}
	return rl.ToolCall{Name: t.name, Arguments: append(object, '}')}, true
}

// quoted is s as JSON; bytes that are no UTF-8 become U+FFFD.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return b
}
