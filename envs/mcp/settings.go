package mcp

import (
	"net/http"
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

// bytesOf is a quantity of memory, such as 4Gi, in bytes.
func bytesOf(quantity string) int64 {
	units := map[string]float64{"M": 1e6, "G": 1e9, "T": 1e12, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
	number := strings.TrimRight(quantity, "MGTi")
	n, _ := strconv.ParseFloat(number, 64) // config has checked its form; nothing is 0, which is no limit
	return int64(n * units[quantity[len(number):]])
}

// secretsOf fills in what the worker's environment has of what the configuration names: the variables of a server, the headers of
// requests. Errors: Unavailable, since another worker may have it.
func (s *Servers) secretsOf(c rl.MCPConfig) error {
	environ, secrets, err := child.Environment("env.mcp.env", c.Env)
	if err != nil {
		return err
	}
	headers, err := child.Named("env.mcp.headers", c.Headers)
	if err != nil {
		return err
	}
	s.environ, s.headers = environ, http.Header{}
	for name, value := range headers {
		s.headers.Set(name, value)
		secrets[value] = name
	}
	s.hide = child.NewHider(secrets)
	return nil
}
