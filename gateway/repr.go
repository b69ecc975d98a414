package gateway

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/rl"
)

// toldHeading is what smolagents writes above the calls of an answer, when it tells the conversation as text:
//
//	Calling tools:
//	[{'id': 'call_1', 'type': 'function', 'function': {'name': 'find_order', 'arguments': {'order': '48'}}}]
const toldHeading = "Calling tools:\n"

// toldCalls reads calls that an agent tells as text; before is the text above them.
func toldCalls(content string) (before string, calls []rl.ToolCall, ok bool) {
	i := strings.LastIndex(content, toldHeading)
	if i < 0 {
		return "", nil, false
	}
	before, list := content[:i], content[i+len(toldHeading):]
	p := python{rest: text(list)}
	b := p.value(nil)
	if p.failed || text(p.rest) != "" {
		return "", nil, false
	}
	var told []struct {
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if json.Unmarshal(b, &told) != nil {
		return "", nil, false
	}
	for _, c := range told {
		call := rl.ToolCall{Name: c.Function.Name, Arguments: c.Function.Arguments}
		var s string
		if json.Unmarshal(call.Arguments, &s) == nil {
			call.Arguments = json.RawMessage(s)
		}
		calls = append(calls, call)
	}
	return before, calls, true
}

// python reads what Python's repr writes of dicts, lists, strings, numbers, True, False and None, and writes it as JSON.
type python struct {
	rest   string
	failed bool
	depth  int
}

func (p *python) fail() []byte {
	p.failed = true
	return nil
}

// take drops a prefix, if there is one.
func (p *python) take(s string) bool {
	after, ok := strings.CutPrefix(p.rest, s)
	if ok {
		p.rest = after
	}
	return ok
}

func (p *python) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

const deepest = 100

func (p *python) value(b []byte) []byte {
	p.space()
	if p.depth++; p.depth > deepest {
		return p.fail()
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("True"):
		return append(b, "true"...)
	case p.take("False"):
		return append(b, "false"...)
	case p.take("None"):
		return append(b, "null"...)
	case p.take("{"):
		return p.list(append(b, '{'), "}", true)
	case p.take("["):
		return p.list(append(b, '['), "]", false)
	case p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"'):
		return p.text(b)
	}
	return p.number(b)
}

// list reads the members of a list or dict up to its end.
func (p *python) list(b []byte, end string, dict bool) []byte {
	for n := 0; !p.failed; n++ {
		p.space()
		if p.take(end) {
			return append(b, end...)
		}
		if n > 0 {
			if !p.take(",") {
				return p.fail()
			}
			b = append(b, ',')
		}
		if dict {
			p.space()
			if b = p.text(b); p.failed {
				return nil
			}
			p.space()
			if !p.take(":") {
				return p.fail()
			}
			b = append(b, ':')
		}
		b = p.value(b)
	}
	return nil
}

func (p *python) number(b []byte) []byte {
	n := 0
	for n < len(p.rest) && strings.IndexByte("+-.0123456789eE", p.rest[n]) >= 0 {
		n++
	}
	if !json.Valid([]byte(p.rest[:n])) {
		return p.fail()
	}
	b, p.rest = append(b, p.rest[:n]...), p.rest[n:]
	return b
}

// text reads a string in either kind of quotes.
func (p *python) text(b []byte) []byte {
	if p.rest == "" {
		return p.fail()
	}
	quote := p.rest[0]
	if quote != '\'' && quote != '"' {
		return p.fail()
	}
	p.rest = p.rest[1:]
	var s strings.Builder
	for {
		switch {
		case p.rest == "":
			return p.fail()
		case p.rest[0] == quote:
			p.rest = p.rest[1:]
			quoted, err := json.Marshal(s.String())
			if err != nil {
				return p.fail()
			}
			return append(b, quoted...)
		case strings.HasPrefix(p.rest, `\'`), strings.HasPrefix(p.rest, `\"`): // strconv takes only the quote's own
			s.WriteByte(p.rest[1])
			p.rest = p.rest[2:]
		case p.rest[0] == '\\':
			r, _, tail, err := strconv.UnquoteChar(p.rest, quote)
			if err != nil {
				return p.fail()
			}
			s.WriteRune(r)
			p.rest = tail
		default:
			_, n := utf8.DecodeRuneInString(p.rest)
			s.WriteString(p.rest[:n])
			p.rest = p.rest[n:]
		}
	}
}
