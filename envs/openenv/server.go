package openenv

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/longhaul-rl/longhaul/child"
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
	hide   *child.Hider // the header's value, which some servers repeat
}

// servers are those of a configuration. Errors are child.Named's.
func servers(c rl.OpenEnvConfig) ([]*server, error) {
	header, secrets := http.Header{}, map[string]string{}
	if c.HeaderEnv != "" {
		named, err := child.Named("env.openenv.header_env", c.Header+"="+c.HeaderEnv)
		if err != nil {
			return nil, err
		}
		value := strings.TrimSpace(named[c.Header])
		header.Set(c.Header, value)
		secrets[value] = c.Header
	}
	hide := child.NewHider(secrets)
	var out []*server
	for url := range strings.SplitSeq(c.URL, ",") {
		out = append(out, &server{strings.TrimSuffix(strings.TrimSpace(url), "/"), header, hide})
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
	if err == nil && len(b) > mostSchema {
		err = fmt.Errorf("it has more than %d bytes", mostSchema)
	}
	if err != nil {
		return nil, rl.Errorf(rl.Unavailable, at, "%s/schema: half a schema: %w", s.url, err)
	}
	return b, nil
}

// action is the server's own schema of an action. Errors as schema's, and Refused when that is none.
func (s *server) action(ctx context.Context) (json.RawMessage, error) {
	b, err := s.schema(ctx)
	if err != nil {
		return nil, err
	}
	var all struct {
		Action json.RawMessage `json:"action"`
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, rl.Errorf(rl.Refused, at, "%s/schema is no schema: %w", s.url, err)
	}
	return all.Action, nil
}

// refusal says why a request failed, with the first words of what was answered instead.
func (s *server) refusal(path string, res *http.Response, err error) error {
	if res == nil || res.Body == nil {
		return rl.Errorf(rl.Unavailable, at, "%s%s: %w", s.url, path, err)
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 200))
	kind := rl.Refused
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		kind = rl.Unavailable
	}
	return rl.Errorf(kind, at, "%s%s answers %s: %q", s.url, path, res.Status, s.hide.Replace(string(said)))
}
