package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/longhaul-rl/longhaul/rl"
)

// MaxSize is the largest run.yaml that is read, in bytes.
const MaxSize = 1 << 20

// maxTokens bounds the words and signs of a file. A complete config has about 300; the YAML parser's time grows with
// their square.
const maxTokens = 5000

// Parse reads a run.yaml; file is its name in messages. Keys that the file leaves out have the defaults of its
// environment (recipe), fitted to what the file does say (fit). The error is an *rl.Error of kind Invalid whose cause
// is Problems: everything that is wrong, not only the first thing.
func Parse(file string, src []byte, names Names) (rl.Config, error) {
	d := &decoder{file: file, names: names, at: map[string]position{}, bad: map[string]bool{}}
	body := d.document(src)
	if len(d.problems) > 0 {
		return rl.Config{}, d.err()
	}
	cfg := recipe(useOf(body))
	cfg.Name = ""
	d.mapping(root, body, root.in(&cfg))
	d.missing()
	fit(&cfg, func(path string) bool { _, ok := d.at[path]; return ok })
	for _, w := range wrongs(cfg, names) {
		d.place(w)
	}
	if len(d.problems) > 0 {
		return rl.Config{}, d.err()
	}
	return cfg, nil
}

func (d *decoder) err() error {
	d.problems.sort()
	return &rl.Error{Kind: rl.Invalid, At: d.file, Err: d.problems}
}

// document is the one mapping that the file holds, nil after a problem.
func (d *decoder) document(src []byte) *ast.MappingNode {
	if len(src) > MaxSize {
		d.report(position{1, 1}, "", fmt.Sprintf("a file of more than %d bytes", MaxSize), "a run.yaml of a few kilobytes", "")
		return nil
	}
	s := strings.TrimPrefix(string(src), "\ufeff")
	if at, r, ok := unprintable(s); ok {
		d.report(at, "", r, "UTF-8 text", "")
		return nil
	}
	tokens := lexer.Tokenize(s)
	if len(tokens) > maxTokens {
		d.report(positionOf(tokens[maxTokens]), "", fmt.Sprintf("more than %d words and signs", maxTokens), "a run.yaml, which has a few hundred", "")
		return nil
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return nil
	}
	return d.only(f)
}

// only is the body of the file's single document.
func (d *decoder) only(f *ast.File) *ast.MappingNode {
	var body ast.Node
	for i, doc := range f.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			d.report(positionOf(doc.Body.GetToken()), "", "a YAML directive", "", "remove the line")
			return nil
		}
		if i > 0 {
			at := position{1, 1}
			if doc.Start != nil {
				at = positionOf(doc.Start)
			}
			d.report(at, "", "a second document", "one document: a run.yaml describes one run", "")
			return nil
		}
		body = doc.Body
	}
	switch b := body.(type) {
	case nil:
		d.report(position{1, 1}, "", "nothing", "keys such as name: and env:", "`longhaul init` writes a complete file")
	case *ast.MappingNode:
		return b
	default:
		d.report(positionOf(b.GetToken()), "", described(b), "keys such as name: and env:", "a key ends with a colon and a space")
	}
	return nil
}

// syntax reports what the YAML parser says. Only its words are used, never the lines it quotes: they may hold a key.
func (d *decoder) syntax(err error) {
	at, found := position{1, 1}, "what is not YAML"
	if e, ok := errors.AsType[yaml.Error](err); ok {
		at = positionOf(e.GetToken())
		if m := e.GetMessage(); !secret(m) { // some messages hold a word of the file
			found += ": " + short(m)
		}
	}
	hint := ""
	if strings.Contains(found, "character '\t'") || strings.Contains(found, "tab character") {
		found, hint = "a tab", "YAML indents with spaces only"
	}
	d.report(at, "", found, "", hint)
}

type position struct{ line, column int }

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{max(1, t.Position.Line), max(1, t.Position.Column)}
}

// unprintable finds the first byte that no text has: invalid UTF-8 or a control character.
func unprintable(s string) (at position, what string, found bool) {
	at = position{1, 1}
	for i, r := range s {
		switch {
		case r == utf8.RuneError && strings.HasPrefix(s[i:], "\ufffd"):
		case r == utf8.RuneError:
			return at, fmt.Sprintf("the byte 0x%02x", s[i]), true
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			return at, fmt.Sprintf("the control character 0x%02x", r), true
		}
		if at.column++; r == '\n' {
			at.line, at.column = at.line+1, 1
		}
	}
	return at, "", false
}

// useOf is the environment that the file names, "" when it names none.
func useOf(body *ast.MappingNode) string {
	if env, ok := lookup(body, "env").(*ast.MappingNode); ok {
		if use, ok := lookup(env, "use").(*ast.StringNode); ok {
			return use.Value
		}
	}
	return ""
}

func lookup(m *ast.MappingNode, key string) ast.Node {
	for _, kv := range m.Values {
		if k, ok := kv.Key.(*ast.StringNode); ok && k.Value == key {
			return kv.Value
		}
	}
	return nil
}
