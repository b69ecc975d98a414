package process

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// scripted is a policy server of the OpenAI API, with token ids (the bytes of what is said) and log-probabilities, that plays a task's
// reference. Before each of its actions it may do something else, as its seed says.
func scripted(play func([]rl.Message) rl.Message, detour []rl.Message, seed uint64) *policy.Client {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string `json:"model"`
			Messages []struct {
				Role    rl.Role `json:"role"`
				Content string  `json:"content"`
			} `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var prompt []int32
		acted := 0
		for _, m := range q.Messages {
			prompt = append(append(prompt, 1000), bytesOf(m.Content)...)
			if m.Role == rl.Assistant {
				acted++
			}
		}
		m := act(play, detour, seed, acted)
		said := map[string]any{"role": "assistant", "content": m.Content}
		text := m.Content
		for i, c := range m.ToolCalls {
			said["tool_calls"] = []any{map[string]any{"id": "call", "index": i, "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)}}}
			text += c.Name + string(c.Arguments)
		}
		tokens := append(bytesOf(text), 0)
		type token struct {
			LogProb float32 `json:"logprob"`
		}
		content := make([]token, len(tokens))
		for i := range content {
			content[i].LogProb = -.5
		}
		json.NewEncoder(w).Encode(map[string]any{"model": q.Model, "prompt_token_ids": append(prompt, 1001), "choices": []any{map[string]any{
			"message": said, "finish_reason": "stop", "token_ids": tokens, "logprobs": map[string]any{"content": content},
		}}})
	})
	return policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: handler}})
}

// act is the action after so many others: the reference's next, or a detour. It follows from the seed alone.
func act(play func([]rl.Message) rl.Message, detour []rl.Message, seed uint64, acted int) rl.Message {
	rng := rand.New(rand.NewPCG(seed, 7))
	var played []rl.Message // the reference's own
	for turn := 0; ; turn++ {
		m := play(played)
		off := len(detour) > 0 && rng.IntN(4) == 0
		if off {
			m = detour[rng.IntN(len(detour))]
		}
		if turn == acted {
			return m
		}
		if !off {
			played = append(played, rl.Message{Role: rl.Assistant})
		}
	}
}

func bytesOf(s string) (out []int32) {
	for _, b := range []byte(s) {
		out = append(out, int32(b))
	}
	return out
}

// calling is an action that calls a tool, given as name and arguments.
func calling(call string) rl.Message {
	name, arguments, _ := strings.Cut(call, " ")
	return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{Name: name, Arguments: []byte(arguments)}}}
}
