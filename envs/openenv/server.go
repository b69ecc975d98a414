package openenv

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// at is the boundary that errors name.
const at = "environment openenv"

// mostSchema bounds a server's schema, in bytes.
const mostSchema = 4 << 20

// client follows no redirects: a header that opens one server is not shown to another.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// server is one of a world's.
type server struct {
	url    string
	header http.Header
	secret string // the header's value; never repeated, though some servers do
}

// servers are those of a configuration. Errors are Invalid at the key.
func servers(c rl.OpenEnvConfig) ([]*server, error) {
	header, secret := http.Header{}, ""
	if c.HeaderEnv != "" {
		if secret = strings.TrimSpace(os.Getenv(c.HeaderEnv)); secret == "" {
			return nil, rl.Errorf(rl.Invalid, "env.openenv.header_env", "the environment variable %s is not set", c.HeaderEnv)
		}
		header.Set(c.Header, secret)
	}
	var out []*server
	for url := range strings.SplitSeq(c.URL, ",") {
		out = append(out, &server{strings.TrimSuffix(strings.TrimSpace(url), "/"), header, secret})
	}
	return out, nil
}

// schema asks for the JSON schema of an action.
func (s *server) schema(ctx context.Context) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/schema", nil)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "env.openenv.url", "%w", err)
	}
	r.Header = s.header.Clone()
	res, err := client.Do(r)
	if err != nil {
		return nil, s.refusal("/schema", nil, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, s.refusal("/schema", res, fmt.Errorf("no schema"))
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, mostSchema+1))
	if err != nil || len(b) > mostSchema {
		return nil, rl.Errorf(rl.Unavailable, at, "%s/schema: half a schema, or more than %d bytes: %w", s.url, mostSchema, err)
	}
	return b, nil
}

// refusal says why a request failed, with the first words of what was answered instead.
func (s *server) refusal(path string, res *http.Response, err error) error {
	if res == nil || res.Body == nil {
		return rl.Errorf(rl.Unavailable, at, "%s%s: %w", s.url, path, err)
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 200))
	if s.secret != "" {
		said = []byte(strings.ReplaceAll(string(said), s.secret, "[the header's value]"))
	}
	kind := rl.Refused
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		kind = rl.Unavailable
	}
	return rl.Errorf(kind, at, "%s%s answers %s: %q", s.url, path, res.Status, said)
}
