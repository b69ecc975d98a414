package envs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// schema is the part of a JSON schema that Check understands.
type schema struct {
	Properties map[string]struct {
		Type any `json:"type"` // a name, or a list of names
	} `json:"properties"`
	Required             []string `json:"required"`
	AdditionalProperties any      `json:"additionalProperties"`
}

// Refuses says what is wrong with a call by the Spec alone, in words for the model; empty: nothing is.
func (s Spec) Refuses(call rl.ToolCall) string {
	tool, ok := s.Tool(call.Name)
	if !ok {
		return fmt.Sprintf("bad call: there is no tool %.64q; the tools are %s", call.Name, s.ToolNames())
	}
	if wrong := tool.Check(call.Arguments); wrong != "" {
		return "bad call: " + wrong
	}
	return ""
}

// ToolNames lists the tools for a model that called none of them.
func (s Spec) ToolNames() string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// Check says what is wrong with the arguments of a call, in words for the model, or nothing. It looks at what models
// get wrong: that the arguments are an object, that required properties are there, that properties have the type
// that the schema gives them, and that none is unknown where the schema forbids that. What else a schema may say is
// left to the tool. The words depend on the arguments alone.
func (t Tool) Check(arguments json.RawMessage) string {
	var s schema
	if err := json.Unmarshal(t.Parameters, &s); err != nil { // a boolean schema, say: nothing more to hold the arguments against
		if !json.Valid(arguments) {
			return "the arguments of " + t.Name + " are not JSON"
		}
		return ""
	}
	if k := kindOf(arguments); k != "object" {
		return "the arguments of " + t.Name + " must be an object, not " + k
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return "the arguments of " + t.Name + " are not JSON"
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			return fmt.Sprintf("%s needs %q", t.Name, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		property, known := s.Properties[name]
		if !known && s.AdditionalProperties == false {
			return fmt.Sprintf("%s takes no %q", t.Name, name)
		}
		if known && !hasType(given[name], property.Type) {
			return fmt.Sprintf("%q of %s must be %s, not %s", name, t.Name, typeNames(property.Type), kindOf(given[name]))
		}
	}
	return ""
}

// kindOf is the JSON type of a value, told by its first byte.
func kindOf(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// hasType reports whether a value is of a schema's type. A schema without one takes any value.
func hasType(value json.RawMessage, want any) bool {
	switch want := want.(type) {
	case string:
		kind := kindOf(value)
		return kind == want || kind == "number" && want == "integer" && whole(value)
	case []any:
		return slices.ContainsFunc(want, func(one any) bool { return hasType(value, one) })
	}
	return true
}

// whole reports whether a JSON number is written as an integer, or with a fraction of zeros.
func whole(number json.RawMessage) bool {
	_, fraction, _ := strings.Cut(string(number), ".")
	return strings.Trim(fraction, "0") == "" && !bytes.ContainsAny(number, "eE")
}

func typeNames(want any) string {
	list, ok := want.([]any)
	if !ok {
		return fmt.Sprint(want)
	}
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = fmt.Sprint(one)
	}
	return strings.Join(names, " or ")
}
