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

// What a chat template does is told of: SmolLM2 135M's passes tools over, Qwen3's drops what the policy thought.
func TestDoctorSeesWhatTheTemplateDoes(t *testing.T) {
	for name, c := range map[string]struct {
		withTools, second string // prompts
		state, found      string
	}{
		"well":               {"[1,7,8,2]", "[1,7,8,2,30,31,32,33,4,5,2]", fine, "it answers"},
		"tools passed over":  {"[1,2]", "[1,2,30,31,32,33,4,5,2]", warning, "it answers, but the model never sees the environment's tools"},
		"reasoning stripped": {"[1,7,8,2]", "[1,7,8,2,33,4,5,2]", warning, "it answers, but a second turn's prompt does not begin with the tokens so far (reasoning_stripped)"},
		"text rewritten":     {"[1,7,8,2]", "[1,7,8,2,30,99,5,2]", warning, "it answers, but a second turn's prompt does not begin with the tokens so far (text_rewritten)"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked, _ := io.ReadAll(r.Body)
				prompt := "[1,2]"
				if bytes.Contains(asked, []byte(`"find_order"`)) {
					prompt = c.withTools
				}
				if bytes.Contains(asked, []byte(`"go on"`)) {
					prompt = c.second
				}
				io.WriteString(w, `{"id":"m","model":"m","prompt_token_ids":`+prompt+`,"choices":[{"message":{"content":"x"},"token_ids":[30,31,32,33,4],
					"logprobs":{"content":[{"logprob":-1},{"logprob":-1},{"logprob":-1},{"logprob":-1},{"logprob":-1}]}}]}`)
			}))
			defer srv.Close()
			cfg := rl.Config{Env: rl.EnvConfig{Use: "orders"}, Policy: rl.PolicyConfig{Use: "openai", Model: "m", Publish: "lora"}, Updates: 1}
			got := checkPolicyServer(t.Context(), cfg, policy.New(policy.Options{URL: srv.URL + "/v1"}), "policy")
			if got.State != c.state || !strings.HasPrefix(got.Found, c.found) || (got.State == warning) != (got.Mend != "") {
				t.Errorf("%+v", got)
			}
		})
	}
}
