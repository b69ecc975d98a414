package tinker

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/longhaul-rl/longhaul/rl"
)

// Models are the base models that the service has. Errors are *rl.Error: Unavailable, Refused.
func (c *Client) Models(ctx context.Context) (names []string, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/api/v1/get_server_capabilities", nil)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, c.at, "%w", err)
	}
	if c.key != "" {
		q.Header.Set("X-API-Key", c.key)
	}
	res, err := c.transport.RoundTrip(q)
	if err != nil {
		return nil, rl.Errorf(rl.Unavailable, c.at, "%w", err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, rl.Errorf(rl.Unavailable, c.at, "half a reply: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, c.refused("get_server_capabilities", c.refusal(res, b))
	}
	var has struct {
		Models []struct {
			Name string `json:"model_name"`
		} `json:"supported_models"`
	}
	if err := json.Unmarshal(b, &has); err != nil {
		return nil, rl.Errorf(rl.Unavailable, c.at, "the reply is not what the API promises: %w", err)
	}
	for _, m := range has.Models {
		names = append(names, m.Name)
	}
	return names, nil
}
