package config

import (
	"reflect"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// kind is what sort of value a key takes.
type kind int

const (
	section   kind = iota // a mapping of further keys
	text                  // a string
	whole                 // an int
	seed                  // a uint64
	number                // a finite float64
	duration              // rl.Duration
	taskRange             // rl.TaskRange
)

// field is one key of run.yaml.
type field struct {
	key      string // as written: "learning_rate"
	path     string // from the top: "update.learning_rate"
	doc      string
	kind     kind
	rule     rule
	optional bool   // zero means "not set" and is left out of JSON
	index    int    // of the struct field in its parent
	parent   *field // nil at the top
	fields   []*field
}

// root is the whole of run.yaml, in the order of rl.Config; leaves are its keys that hold a value.
var (
	root   = describe(&field{}, reflect.TypeFor[rl.Config]())
	leaves = root.collect(nil)
)

func describe(f *field, t reflect.Type) *field {
	f.kind = kindOf(t)
	f.rule = rules[f.path]
	if f.kind != section {
		return f
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opt, _ := strings.Cut(sf.Tag.Get("json"), ",")
		child := &field{key: name, path: name, doc: sf.Tag.Get("doc"), optional: opt == "omitempty", index: i, parent: f}
		if f.path != "" {
			child.path = f.path + "." + name
		}
		f.fields = append(f.fields, describe(child, sf.Type))
	}
	return f
}

func kindOf(t reflect.Type) kind {
	switch {
	case t == reflect.TypeFor[rl.Duration]():
		return duration
	case t == reflect.TypeFor[rl.TaskRange]():
		return taskRange
	}
	switch t.Kind() {
	case reflect.Struct:
		return section
	case reflect.String:
		return text
	case reflect.Int:
		return whole
	case reflect.Uint64:
		return seed
	case reflect.Float64:
		return number
	}
	panic("config: rl.Config has a field of type " + t.String() + ", which run.yaml cannot hold") // found by any test
}

func (f *field) collect(out []*field) []*field {
	if f.kind != section {
		return append(out, f)
	}
	for _, c := range f.fields {
		out = c.collect(out)
	}
	return out
}

func (f *field) child(key string) *field {
	for _, c := range f.fields {
		if c.key == key {
			return c
		}
	}
	return nil
}

func (f *field) keys() (out []string) {
	for _, c := range f.fields {
		out = append(out, c.key)
	}
	return out
}

// in is the field's own place in a config.
func (f *field) in(cfg *rl.Config) reflect.Value {
	if f.parent == nil {
		return reflect.ValueOf(cfg).Elem()
	}
	return f.parent.in(cfg).Field(f.index)
}
