package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// listed are a server's tools, with their schemas.
func listed(ctx context.Context, s *mcp.ClientSession) (all []*mcp.Tool, err error) {
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if all = append(all, tool); len(all) > maxTools {
			return nil, errTools
		}
	}
	return all, nil
}

const maxTools = 1000

var errTools = fmt.Errorf("the server lists more than %d tools", maxTools)

// callable is what APIs of models take for the name of a tool.
var callable = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// tools are those of a server that the agent gets, as the configuration says, and the names of all. They are sorted by name, since some
// servers list them in another order each time. Errors: Invalid at a key of env.mcp.
func (s *Servers) tools(listed []*mcp.Tool, dir string) (out []envs.Tool, names map[string]bool, err error) {
	wanted, effects := list(s.config.Tools), pairs(s.config.Effects)
	names = map[string]bool{}
	given := map[string]bool{}
	for _, t := range listed {
		if names[t.Name] {
			return nil, nil, rl.Errorf(rl.Invalid, s.key(), "the server lists the tool %s twice", t.Name)
		}
		names[t.Name] = true
		if len(wanted) > 0 && !slices.Contains(wanted, t.Name) {
			continue
		}
		given[t.Name] = true
		if !callable.MatchString(t.Name) || t.Name == envs.FinalText {
			return nil, nil, rl.Errorf(rl.Invalid, "env.mcp.tools", "the server's tool %q has no name that models can call it by, 1 to 64 of a-z A-Z 0-9 _ -: name the others", t.Name)
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, nil, rl.Errorf(rl.Invalid, s.key(), "the server's tool %s cannot be used: %w", t.Name, err)
		}
		effect := s.config.Effect
		if own, ok := effects[t.Name]; ok {
			effect = own
		}
		description := t.Description
		if description == "" {
			description = strings.TrimSpace(t.Title + " " + t.Name)
		}
		out = append(out, envs.Tool{
			Tool:      rl.Tool{Name: t.Name, Description: s.hide.Replace(shown(description, dir)), Parameters: json.RawMessage(s.hide.Replace(shown(string(schema), dir)))},
			Timeout:   time.Duration(s.config.CallTimeout),
			OutputCap: s.config.OutputBytes,
			Effect:    envs.Effect(effect),
		})
	}
	for _, k := range []struct {
		key, who string
		named    []string
		has      map[string]bool
	}{{"tools", "server", wanted, names}, {"effects", "agent", slices.Sorted(maps.Keys(effects)), given}} {
		for _, name := range k.named {
			if !k.has[name] {
				return nil, nil, rl.Errorf(rl.Invalid, "env.mcp."+k.key, "the %s has no tool %s; it has %s", k.who, name, strings.Join(slices.Sorted(maps.Keys(k.has)), ", "))
			}
		}
	}
	if len(out) == 0 {
		return nil, nil, rl.Errorf(rl.Invalid, s.key(), "the server has no tools")
	}
	slices.SortFunc(out, func(a, b envs.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out, names, nil
}

// actions is what makes two lists of tools the same to an agent that learnt with one of them: names and schemas, not the words.
func actions(tools []envs.Tool) []byte {
	var b bytes.Buffer
	for _, t := range tools {
		fmt.Fprintf(&b, "%s %s\n", t.Name, t.Parameters)
	}
	return b.Bytes()
}

// validator holds arguments against the whole of a tool's schema.
type validator struct {
	whole *jsonschema.Resolved
	loose *jsonschema.Resolved // without what only the whole object can meet: by it one property can be looked at alone
	names map[string]*jsonschema.Schema
}

// drafts of JSON schema that the library validates by, as schemas name them.
var drafts = []string{"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}

// newValidator is nil for a schema that the library does not know, such as one of an older draft: the server is left to judge by it.
func newValidator(parameters json.RawMessage) *validator {
	resolved := func(change func(*jsonschema.Schema)) (*jsonschema.Resolved, *jsonschema.Schema) {
		var s jsonschema.Schema
		if json.Unmarshal(parameters, &s) != nil {
			return nil, nil
		}
		change(&s)
		r, err := s.Resolve(nil)
		if err != nil || !slices.Contains(drafts, s.Schema) {
			return nil, nil
		}
		return r, &s
	}
	whole, s := resolved(func(*jsonschema.Schema) {})
	if whole == nil {
		return nil
	}
	loose, _ := resolved(func(s *jsonschema.Schema) {
		s.Required, s.MinProperties, s.DependentRequired, s.DependentSchemas, s.AllOf, s.AnyOf, s.OneOf, s.Not, s.If = nil, nil, nil, nil, nil, nil, nil, nil, nil
	})
	return &validator{whole, loose, s.Properties}
}

// wrong says what is wrong with arguments, in words that depend on them alone; empty: nothing. The library's own words depend on
// the order of a map.
func (v *validator) wrong(tool string, arguments json.RawMessage) string {
	var given map[string]any
	if v == nil || json.Unmarshal(arguments, &given) != nil || v.whole.Validate(given) == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if v.loose == nil || v.loose.Validate(map[string]any{name: given[name]}) == nil {
			continue
		}
		schema, err := json.Marshal(v.names[name])
		if v.names[name] == nil || err != nil {
			return fmt.Sprintf("%s takes no %q", tool, name)
		}
		return fmt.Sprintf("%q of %s is not as its schema says: %s", name, tool, clip(string(schema)))
	}
	return "the arguments of " + tool + " do not go together as its schema says"
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
