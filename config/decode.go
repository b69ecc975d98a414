package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder fills a config from a document and notes what is wrong and where each key stands.
type decoder struct {
	file     string
	names    Names
	problems Problems
	at       map[string]position // of the value, by path of every key that the file gives
	bad      map[string]bool     // paths whose value could not be read: no further complaint about them
}

func (d *decoder) report(at position, key, found, expected, hint string) {
	d.problems = append(d.problems, Problem{d.file, at.line, at.column, key, found, expected, hint})
}

// place reports what is wrong with a value: where the first of its keys stands that the file gives, else at the
// nearest section, else at the top.
func (d *decoder) place(w wrong) {
	at, given := position{1, 1}, false
	for _, path := range w.paths {
		if d.bad[path] {
			return
		}
		if p, ok := d.at[path]; ok && !given {
			at, given = p, true
		}
	}
	for path := w.paths[0]; !given && path != ""; {
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
		if p, ok := d.at[path]; ok {
			at, given = p, true
		}
	}
	d.report(at, w.paths[0], w.found, w.expected, w.hint)
}

func (d *decoder) mapping(f *field, m *ast.MappingNode, v reflect.Value) {
	first := map[string]int{}
	for _, kv := range m.Values {
		at := positionOf(kv.Key.GetToken())
		key, ok := d.key(kv.Key)
		if !ok {
			continue
		}
		path := strings.TrimPrefix(f.path+"."+key, ".")
		if line, again := first[key]; again {
			d.report(at, path, fmt.Sprintf("the key again, first in line %d", line), "each key once", "")
			continue
		}
		first[key] = at.line
		child := f.child(key)
		if child == nil {
			d.unknown(at, f, key)
			continue
		}
		where := positionOf(kv.Value.GetToken())
		if _, nothing := kv.Value.(*ast.NullNode); nothing {
			where = at // of the key: nothing stands nowhere
		}
		d.at[child.path] = where
		d.value(child, kv.Value, v.Field(child.index))
	}
}

// key is the text of a key; anything else than a plain or quoted word is refused.
func (d *decoder) key(n ast.MapKeyNode) (string, bool) {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.MergeKeyNode:
		d.report(positionOf(k.GetToken()), "", "a merge key (<<)", "every value written out", "")
	default:
		d.report(positionOf(n.GetToken()), "", described(n)+" as a key", "a word followed by a colon", "")
	}
	return "", false
}

func (d *decoder) unknown(at position, f *field, key string) {
	where := "at the top"
	if f.path != "" {
		where = "in " + f.path
	}
	d.report(at, "", "the unknown key "+quoted(key)+" "+where, listed(f.keys(), "or"), meant(key, f))
}

func (d *decoder) value(f *field, n ast.Node, v reflect.Value) {
	if f.kind == section {
		if m, ok := n.(*ast.MappingNode); ok {
			d.mapping(f, m, v)
			return
		}
		d.refuse(f, n, "")
		return
	}
	raw, style := scalar(n)
	switch {
	case style == noScalar:
		d.refuse(f, n, "")
	case style == plainOther && f.kind == text:
		d.refuse(f, n, fmt.Sprintf("as a text: %q", raw))
	case style == plainOther && f.readsText():
		d.refuse(f, n, "")
	case style == quotedText && !f.readsText():
		d.refuse(f, n, "without quotes")
	default:
		if hint, ok := f.set(v, raw); !ok {
			d.refuse(f, n, hint)
		}
	}
}

// refuse reports a value of the wrong type.
func (d *decoder) refuse(f *field, n ast.Node, hint string) {
	d.bad[f.path] = true
	for _, leaf := range f.collect(nil) {
		d.bad[leaf.path] = true
	}
	found, expected := f.found(described(n)), f.expects(d.names)
	if f.rule.private {
		hint = ""
	}
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		found, expected = described(n), "the value itself, written out"
	}
	d.report(d.at[f.path], f.path, found, expected, hint)
}

// style is how a single value is written.
type style int

const (
	noScalar   style = iota // a mapping, a list, nothing, an anchor ...
	plainText               // without quotes
	plainOther              // a number or a truth value
	quotedText              // in quotes, or a block of lines
)

var numberPattern = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// scalar is the text of a single value and how it is written. Numbers are told by numberPattern, YAML 1.2's: the
// parser takes 1e-3 for a text.
func scalar(n ast.Node) (string, style) {
	switch v := n.(type) {
	case *ast.StringNode:
		switch {
		case v.Token.Type == token.SingleQuoteType || v.Token.Type == token.DoubleQuoteType:
			return v.Value, quotedText
		case numberPattern.MatchString(v.Value):
			return v.Value, plainOther
		}
		return v.Value, plainText
	case *ast.LiteralNode:
		return v.Value.Value, quotedText
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, plainOther
	}
	return "", noScalar
}

// described says in words what stands in the file.
func described(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode:
		return "an anchor (&)"
	case *ast.AliasNode:
		return "an alias (*)"
	case *ast.TagNode:
		return "a tag (!)"
	}
	raw, style := scalar(n)
	switch {
	case style == noScalar:
		return "something that is no value"
	case n.Type() == ast.BoolType:
		return "the truth value " + raw
	case style == plainOther:
		return "the number " + short(raw)
	}
	return "the text " + quoted(raw)
}
