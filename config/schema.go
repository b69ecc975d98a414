package config

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// node is a JSON Schema (draft 2020-12) with its members in a fixed, readable order.
type node struct {
	Schema               string     `json:"$schema,omitempty"`
	Title                string     `json:"title,omitempty"`
	Description          string     `json:"description,omitempty"`
	Type                 string     `json:"type,omitempty"`
	Enum                 []string   `json:"enum,omitempty"`
	Pattern              string     `json:"pattern,omitempty"`
	Minimum              *float64   `json:"minimum,omitempty"`
	ExclusiveMinimum     *float64   `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64   `json:"maximum,omitempty"`
	ExclusiveMaximum     *float64   `json:"exclusiveMaximum,omitempty"`
	MultipleOf           int        `json:"multipleOf,omitempty"`
	Default              any        `json:"default,omitempty"`
	Required             []string   `json:"required,omitempty"`
	Properties           properties `json:"properties,omitempty"`
	AdditionalProperties *bool      `json:"additionalProperties,omitempty"`
}

// properties keeps the order of rl.Config, which a map would lose.
type properties []property

type property struct {
	key  string
	node node
}

func (ps properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	separator := byte('{')
	for _, p := range ps {
		body, err := json.Marshal(p.node)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%q:%s", separator, p.key, body)
		separator = ','
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema is the JSON Schema of run.yaml, for editors and checkers: types, descriptions, names, ranges and defaults. What
// several keys must agree on is checked by Parse alone.
func Schema(names Names) []byte {
	n := root.schema(names)
	n.Schema, n.Title = "https://json-schema.org/draft/2020-12/schema", "longhaul run.yaml"
	n.Description = "One training run of longhaul. Keys that are left out have their defaults."
	b, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // made of texts and finite numbers
	}
	return append(b, '\n')
}

func (f *field) schema(names Names) node {
	n := node{Description: f.doc}
	switch f.kind {
	case section:
		closed := false
		n.Type, n.AdditionalProperties = "object", &closed
		for _, c := range f.fields {
			n.Properties = append(n.Properties, property{c.key, c.schema(names)})
			if c.required() {
				n.Required = append(n.Required, c.key)
			}
		}
		return n
	case text:
		n.Type = "string"
		if f.rule.names != nil {
			n.Enum = f.rule.names(names)
		} else {
			n.Pattern = f.rule.form.pattern
		}
	case duration:
		n.Type, n.Pattern = "string", `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	case taskRange:
		n.Type, n.Pattern = "string", `^\+?[0-9]+-\+?[0-9]+$`
	case number:
		n.Type = "number"
		n.bounds(f.rule)
	default:
		n.Type = "integer"
		n.bounds(f.rule)
	}
	n.Default = f.standard()
	return n
}

func (n *node) bounds(r rule) {
	n.Minimum, n.Maximum, n.MultipleOf = &r.min, &r.max, r.multiple
	if r.above {
		n.Minimum, n.ExclusiveMinimum = nil, &r.min
	}
	if r.below {
		n.Maximum, n.ExclusiveMaximum = nil, &r.max
	}
}

// required reports whether the key, or a key below it, has no default.
func (f *field) required() bool {
	for _, leaf := range f.collect(nil) {
		if leaf.rule.required {
			return true
		}
	}
	return false
}

// standard is the key's default, nil where there is none.
func (f *field) standard() any {
	cfg := recipe("orders")
	if f.rule.required || f.unset(cfg) {
		return nil
	}
	if v := f.in(&cfg); f.kind != duration && f.kind != taskRange {
		return v.Interface()
	}
	return f.show(f.in(&cfg))
}
