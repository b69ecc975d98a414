package mcp

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

// list is a text with commas, in parts.
func list(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// pairs is a text of NAME=VALUE with commas.
func pairs(s string) map[string]string {
	out := map[string]string{}
	for _, one := range list(s) {
		name, value, _ := strings.Cut(one, "=")
		out[name] = value
	}
	return out
}

// words are a command's, as a shell would part them that knows only spaces and quotes. Error: a quote without its end.
func words(command string) (out []string, err error) {
	var word strings.Builder
	var quote rune
	began := false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, began = r, true
		case r == ' ' || r == '\t':
			if began {
				out = append(out, word.String())
			}
			word.Reset()
			began = false
		default:
			word.WriteRune(r)
			began = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c has no end", quote)
	}
	if began {
		out = append(out, word.String())
	}
	return out, nil
}

// bytesOf is a quantity of memory, such as 4Gi, in bytes.
func bytesOf(quantity string) int64 {
	units := map[string]float64{"M": 1e6, "G": 1e9, "T": 1e12, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
	number := strings.TrimRight(quantity, "MGTi")
	n, _ := strconv.ParseFloat(number, 64) // config has checked its form; nothing is 0, which is no limit
	return int64(n * units[quantity[len(number):]])
}

// secretsOf fills in what the worker's environment has of what the configuration names: the variables of a server, the headers of
// requests. Errors: Unavailable, since another worker may have it.
func (w *world) secretsOf(c rl.MCPConfig) error {
	w.headers, w.environ = http.Header{}, child.Plain()
	secrets := map[string]string{}
	for _, k := range []struct {
		key, text string
		add       func(name, value string)
	}{
		{"env.mcp.env", c.Env, func(name, value string) { w.environ = append(w.environ, name+"="+value) }},
		{"env.mcp.headers", c.Headers, func(name, value string) { w.headers.Set(name, value) }},
	} {
		for name, variable := range pairs(k.text) {
			value := os.Getenv(variable)
			if value == "" {
				return rl.Errorf(rl.Unavailable, k.key, "the environment variable %s is not set where this worker runs", variable)
			}
			k.add(name, value)
			secrets[value] = variable
		}
	}
	w.hide = child.Hider(secrets)
	return nil
}
