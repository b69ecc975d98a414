package policy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
)

// A server that never gives what training needs is refused for it, with what to do, and can be evaluated.
func TestUntrainableServers(t *testing.T) {
	for name, c := range map[string]struct{ body, say string }{
		"no token ids":         {`{"model":"run@000001","choices":[{"message":{"content":"x"},"logprobs":{"content":[{"token":"x","logprob":-1}]}}]}`, "the answer has no token ids: vLLM gives"},
		"no prompt's ids":      {`{"model":"run@000001","choices":[{"message":{"content":"x"},"logprobs":{"content":[{"id":3,"logprob":-1}]}}]}`, "no token ids"},
		"no log-probabilities": {`{"model":"run@000001","prompt_token_ids":[1],"choices":[{"message":{"content":"x"},"token_ids":[3],"logprobs":null}]}`, "--max-logprobs 0"},
	} {
		client, _ := canned(t, Options{}, says(200, "", c.body))
		q := question("run@000001")
		if _, err := client.Act(t.Context(), q); err != nil {
			t.Errorf("%s, to evaluate: %v", name, err)
		}
		q.Training = true
		if _, err := client.Act(t.Context(), q); rl.KindOf(err) != rl.Refused || !errors.Is(err, ErrUntrainable) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
		if err := client.Ready(t.Context(), "run@000001", true); !errors.Is(err, ErrUntrainable) && rl.KindOf(err) != rl.NotFound {
			t.Errorf("%s: it is said to be ready: %v", name, err)
		}
	}
}

// One spoiled answer, among good ones, is asked for again at another server: it says nothing about the episode.
func TestSpoiledAnswersAreAskedForElsewhere(t *testing.T) {
	good := strings.ReplaceAll(embeddedReply, "256,257", "256,257,258")
	for name, fault := range map[string]faults.Fault{
		"no logprobs":       faults.Answer(200, `{"model":"run@000001","prompt_token_ids":[1],"choices":[{"message":{"content":"x"},"token_ids":[3],"logprobs":null}]}`),
		"no ids":            faults.Answer(200, `{"model":"run@000001","choices":[{"message":{"content":"x"},"logprobs":{"content":[{"token":"x","logprob":-1}]}}]}`),
		"lengths":           faults.Answer(200, `{"model":"run@000001","prompt_token_ids":[1],"choices":[{"message":{"content":"x"},"token_ids":[3,4],"logprobs":{"content":[{"logprob":-1}]}}]}`),
		"half a reply":      faults.Answer(200, good[:len(good)/2]),
		"half a body":       faults.Cut(40),
		"loading":           faults.Answer(503, `{"error":{"message":"the model is loading"}}`, "Retry-After", "5"),
		"lost":              faults.Lost,
		"nobody there":      faults.Refuse,
		"no model in it":    faults.Answer(200, `{"choices":[{"message":{"content":"x"}}]}`),
		"an internal error": faults.Answer(500, `{"error":{"message":"CUDA out of memory"}}`),
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, good) })
		plan := faults.Of(faults.On("POST", "", faults.Nth(3), fault))
		c := New(Options{URL: "http://a/v1,http://b/v1", Transport: plan.Transport(inprocess.Transport{Handler: h})})
		q := question("run@000001")
		q.Training = true
		for turn := range 4 {
			if r, err := c.Act(t.Context(), q); err != nil || len(r.Prompt) != 3 {
				t.Errorf("%s, turn %d: %+v %v", name, turn, r, err)
			}
		}
		if hits := plan.Hits(); hits[0] != 1 {
			t.Errorf("%s: hit %d times", name, hits[0])
		}
		for _, s := range c.Status() {
			if s.State != "healthy" {
				t.Errorf("%s: one failure ejects: %+v", name, s)
			}
		}
	}
}

// What every conversation would get is told from what is about one.
func TestRefusalsForEverybody(t *testing.T) {
	for say, flag := range map[string]string{
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`:         "--tool-call-parser",
		`max_tokens=4000 cannot be greater than max_model_len=1024. Please request fewer output tokens.`: "max_model_len",
	} {
		client, _ := canned(t, Options{}, says(400, "", string(rl.CanonicalJSON(map[string]any{"error": map[string]any{"message": say, "type": "BadRequestError", "code": 400}}))))
		_, err := client.Act(t.Context(), question("m"))
		if rl.KindOf(err) != rl.Refused || strings.Contains(err.Error(), "conversation") || !strings.Contains(err.Error(), flag) {
			t.Error(err)
		}
	}
}
