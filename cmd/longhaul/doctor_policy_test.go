package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// A chat template that passes tools over is told of: SmolLM2 135M's does.
func TestDoctorSeesThatToolsAreShown(t *testing.T) {
	for name, c := range map[string]struct {
		withTools string
		state     string
	}{
		"shown":       {"[1,7,8,2]", fine},
		"passed over": {"[1,2]", warning},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked, _ := io.ReadAll(r.Body)
				prompt := "[1,2]"
				if bytes.Contains(asked, []byte(`"find_order"`)) {
					prompt = c.withTools
				}
				io.WriteString(w, `{"id":"m","model":"m","prompt_token_ids":`+prompt+`,"choices":[{"message":{"content":"x"},"token_ids":[3],"logprobs":{"content":[{"logprob":-1}]}}]}`)
			}))
			defer srv.Close()
			cfg := rl.Config{Env: rl.EnvConfig{Use: "orders"}, Policy: rl.PolicyConfig{Use: "openai", Model: "m", Publish: "lora"}, Updates: 1}
			got := checkPolicyServer(t.Context(), cfg, policy.New(policy.Options{URL: srv.URL + "/v1"}), "policy")
			if got.State != c.state || (got.State == warning) != strings.Contains(got.Found, "never sees the environment's tools") {
				t.Errorf("%+v", got)
			}
		})
	}
}
