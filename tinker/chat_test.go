package tinker

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// tokens is a tokenizer.json of byte-level BPE.
func tokens(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../tokenizer/testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// playing is a policy client of the versions that a service has: version 0 and, after an update, 1.
func playing(t *testing.T, r *road) (*policy.Client, []Saved) {
	t.Helper()
	c := New(Options{URL: "http://tinker", Transport: r})
	saved := []Saved{initial(t, r)}
	next, err := c.Do(t.Context(), taught(saved[0].Weights))
	if err != nil {
		t.Fatal(err)
	}
	saved = append(saved, next)
	file := tokens(t)
	chat := NewChat(c, func(_ context.Context, v rl.Version) (Checkpoint, []byte, error) {
		_, n, err := v.Parse()
		if err != nil || int(n) >= len(saved) {
			return Checkpoint{}, nil, rl.Errorf(rl.NotFound, "store", "no version %s", v)
		}
		return Checkpoint{Base: base, Saved: saved[n]}, file, nil
	})
	return policy.New(policy.Options{URL: "http://tinker/v1", Transport: inprocess.Transport{Handler: chat}, Splice: true}), saved
}

func act(t *testing.T, c *policy.Client, v rl.Version) policy.Response {
	t.Helper()
	r, err := c.Act(t.Context(), policy.Request{Model: string(v), Messages: []rl.Message{{Role: rl.User, Content: "where is order 48?"}}, Temperature: 1, MaxTokens: 8, Seed: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The service's one weight is the first token's log-probability: it says which version has acted.
func TestAVersionActsWithItsOwnWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		c, _ := playing(t, r)
		for v, want := range map[rl.Version]float32{"run@000000": -1, "run@000001": -1.97} {
			if err := c.Ready(t.Context(), string(v), false); err != nil {
				t.Fatal(err)
			}
			a := act(t, c, v)
			if len(a.Tokens) != 2 || len(a.LogProbs) != 2 || a.LogProbs[0] != want || len(a.Prompt) == 0 || a.Model != string(v) || a.Finish != "stop" {
				t.Errorf("%s: %+v", v, a)
			}
		}
		if err := c.Ready(t.Context(), "run@000002", false); rl.KindOf(err) != rl.Refused && rl.KindOf(err) != rl.NotFound {
			t.Errorf("a version that is not there: %v", err)
		}
		time.Sleep(2 * idle)
	})
}

// An engine that was started again has no model, and refuses to sample from what it has on disk.
func TestSamplingGoesOnWhereTheEngineWasStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		c, _ := playing(t, r)
		for range 3 {
			if a := act(t, c, "run@000001"); a.LogProbs[0] != -1.97 {
				t.Errorf("%+v", a)
			}
			r.Kill()
		}
		r.faults = []fault{drop}
		if a := act(t, c, "run@000001"); a.LogProbs[0] != -1.97 {
			t.Errorf("after a lost answer: %+v", a)
		}
		time.Sleep(idle - time.Minute) // its session beats
		before := len(r.asked())
		if act(t, c, "run@000001"); len(r.asked())-before != 2 {
			t.Errorf("a version that is loaded takes %v", r.asked()[before:])
		}
		time.Sleep(2 * idle)
		if n := r.Loaded(); n != 0 {
			t.Errorf("nobody samples, and %d models are kept", n)
		}
	})
}

func TestTemplate(t *testing.T) {
	template, err := NewTemplate(tokens(t))
	if err != nil {
		t.Fatal(err)
	}
	var conversation []message
	if err := json.Unmarshal([]byte(`[{"role":"system","content":"be brief"},{"role":"user","content":"where is order 48?"},
		{"role":"assistant","tool_calls":[{"function":{"name":"find","arguments":"{\"order\":\"48\"}"}}]},
		{"role":"tool","content":"48 in box C7"},{"role":"tool","content":"busy"}]`), &conversation); err != nil {
		t.Fatal(err)
	}
	ids, err := template.prompt(conversation, []json.RawMessage{json.RawMessage(`{"type": "function"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "<|im_start|>system\nbe brief\n\n" + toolsBefore + "\n{\"type\": \"function\"}" + toolsAfter + "<|im_end|>\n" +
		"<|im_start|>user\nwhere is order 48?<|im_end|>\n" +
		"<|im_start|>assistant\n<tool_call>\n{\"name\": \"find\", \"arguments\": {\"order\":\"48\"}}\n</tool_call><|im_end|>\n" +
		"<|im_start|>user\n<tool_response>\n48 in box C7\n</tool_response>\n<tool_response>\nbusy\n</tool_response><|im_end|>\n" +
		"<|im_start|>assistant\n"
	if got := spelled(template, ids); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// spelled is ids with the special tokens' names.
func spelled(t *Template, ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		switch id {
		case t.start:
			b.WriteString("<|im_start|>")
		case t.end:
			b.WriteString("<|im_end|>")
		default:
			b.WriteString(t.words([]int32{id}))
		}
	}
	return b.String()
}

// A conversation that goes on begins with the very ids that were shown and sampled before, whatever they say.
func TestWhatWasSampledIsNotEncodedAgain(t *testing.T) {
	template, err := NewTemplate(tokens(t))
	if err != nil {
		t.Fatal(err)
	}
	first := []message{{Role: "user", Content: "where?"}}
	before, err := template.prompt(first, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sampled := range [][]int32{{70, 71, template.end}, {70, 71}, {template.end}, {}} {
		after, err := template.prompt(append(first, message{Role: "assistant", Content: "other words", TokenIDs: sampled}, message{Role: "tool", Content: "x"}), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := append(append([]int32{}, before...), sampled...)
		if len(after) <= len(seen) || string(spelled(template, after[:len(seen)])) != spelled(template, seen) {
			t.Errorf("%v: %v does not begin with %v", sampled, after, seen)
		}
	}
}

// An action ends with the token that completes a stop word, which a service does not know of; its text ends before the word.
func TestStopWords(t *testing.T) {
	template, err := NewTemplate(tokens(t))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := template.text.Encode(nil, "order 48, then 49")
	if err != nil || len(ids) < 4 {
		t.Fatal(ids, err)
	}
	for word, want := range map[string]string{"": "order 48, then 49", "50": "order 48, then 49", "48": "order ", ", t": "order 48", "order": ""} {
		a := sampled{Tokens: ids, LogProbs: make([]float32, len(ids)), Stop: "length"}
		var words []string
		if word != "" {
			words = []string{"unheard of", word}
		}
		said := template.stop(&a, words)
		last := template.words(a.Tokens[:len(a.Tokens)-1])
		stopped := said != "order 48, then 49"
		if said != want || len(a.LogProbs) != len(a.Tokens) || stopped && (strings.Contains(last, word) || !strings.Contains(template.words(a.Tokens), word)) || (a.Stop == "stop") != stopped {
			t.Errorf("%q: %q of %q, %s", word, said, template.words(a.Tokens), a.Stop)
		}
	}
}

func TestAnotherChatFormatIsRefused(t *testing.T) {
	b := []byte(strings.ReplaceAll(string(tokens(t)), "<|im_start|>", "<|start|>"))
	if _, err := NewTemplate(b); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), "ChatML") {
		t.Error(err)
	}
}

func TestARequestThatIsNoneIsRefused(t *testing.T) {
	chat := NewChat(New(Options{URL: "http://tinker", Transport: &road{Service: simtinker.New()}}), nil)
	q, err := http.NewRequest(http.MethodPost, "http://tinker/v1/chat/completions", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := inprocess.Transport{Handler: chat}.RoundTrip(q)
	if err != nil || res.StatusCode != 400 {
		t.Error(res, err)
	}
	res.Body.Close()
}
