package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
)

// scripted is a policy server that says what it is told to, by the number of answers that the conversation has. Its tokens are
// bytes: a message is its role and its content or calls, and an action is other bytes than those of its message, so that only
// actions that are spliced back extend the sequence.
type scripted struct {
	mu     sync.Mutex
	script []string // choices[0].message, as JSON
	asked  int
	last   scriptedRequest
	fail   func(n int) int // a status for the n-th request, from 0
}

func (s *scripted) client() *policy.Client {
	return policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: s}, Splice: true, Concurrency: 600})
}

type scriptedRequest struct {
	Messages    []scriptedMessage
	MaxTokens   int `json:"max_tokens"`
	Temperature float64
	Stop        []string
}

type scriptedMessage struct {
	Role    string
	Content json.RawMessage
	Calls   json.RawMessage `json:"tool_calls"`
	Tokens  []int32         `json:"token_ids"`
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q scriptedRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	prompt, said := []int32{}, 0
	for _, m := range q.Messages {
		prompt = append(prompt, 300+int32(m.Role[0]))
		if m.Role == "assistant" {
			said++
		}
		if m.Tokens != nil {
			prompt = append(prompt, m.Tokens...)
			continue
		}
		for _, b := range fmt.Sprintf("%s %s", m.Content, m.Calls) {
			prompt = append(prompt, int32(b)%256)
		}
	}
	s.mu.Lock()
	n := s.asked
	s.asked++
	s.last = q
	s.mu.Unlock()
	if s.fail != nil {
		if status := s.fail(n); status != 0 {
			http.Error(w, `{"error": {"message": "scripted", "code": "context_length_exceeded"}}`, status)
			return
		}
	}
	message := s.script[min(said, len(s.script)-1)]
	whole := message              // what was sampled
	for _, word := range q.Stop { // a message has no other words to stop at than those of its content
		before, rest, ok := strings.Cut(message, word)
		if ok {
			message, whole = before+rest[strings.LastIndexByte(rest, '"'):], before+word
		}
	}
	tokens, logProbs := []int32{}, []map[string]float32{}
	for _, b := range []byte(whole) {
		tokens, logProbs = append(tokens, 500+int32(b)), append(logProbs, map[string]float32{"logprob": -float32(b) / 256})
	}
	finish := "stop"
	if json.Valid([]byte(message)) && len(message) > 0 && message[len(message)-2] == ']' {
		finish = "tool_calls"
	}
	b, err := json.Marshal(map[string]any{
		"model": "run@000001", "prompt_token_ids": append(prompt, 300+int32('a')),
		"choices": []any{map[string]any{
			"message": json.RawMessage(message), "token_ids": tokens, "logprobs": map[string]any{"content": logProbs}, "finish_reason": finish,
		}},
	})
	if err != nil {
		panic(err)
	}
	w.Write(b)
}

// calls is an assistant message with calls, each a name and arguments as JSON.
func calls(content string, pairs ...string) string {
	m := map[string]any{"role": "assistant", "content": content}
	var all []any
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, map[string]any{"id": "x", "type": "function", "function": map[string]string{"name": pairs[i], "arguments": pairs[i+1]}})
	}
	m["tool_calls"] = all
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}
