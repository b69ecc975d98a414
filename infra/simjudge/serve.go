package simjudge

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer is a call's reply, kept under its key. ready is closed when it is there.
type answer struct {
	of    [sha256.Size]byte // the call's body: a key stands for one call alone
	ready chan struct{}
	reply reply
	err   error
}

// request is the part of a chat completion's request that the judge reads.
type request struct {
	Messages []message `json:"messages"`
	Seed     uint64    `json:"seed"`
}

type message struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

// reply is a chat completion.
type reply struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index   int     `json:"index"`
	Message message `json:"message"`
	Finish  string  `json:"finish_reason"`
}

type usage struct {
	Prompt int `json:"prompt_tokens"`
	Reply  int `json:"completion_tokens"`
	Total  int `json:"total_tokens"`
}

// charsPerToken makes tokens of characters, as prices are by tokens.
const charsPerToken = 4

// ServeHTTP answers POST /v1/chat/completions, GET /v1/models and GET /v1/stats.
func (j *Judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if k := j.options.Key; k != "" && subtle.ConstantTimeCompare([]byte(given), []byte(k)) != 1 {
		refuse(w, http.StatusUnauthorized, "the API key is not this judge's")
		return
	}
	j.mux.ServeHTTP(w, r)
}

func (j *Judge) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	j.mu.Lock()
	j.stats.Asked++
	limited := j.stats.Asked <= j.options.Limited
	j.mu.Unlock()
	if limited {
		w.Header().Set("Retry-After", strconv.FormatFloat(j.options.RetryAfter.Seconds(), 'f', -1, 64))
		refuse(w, http.StatusTooManyRequests, "too many calls")
		return
	}
	of := sha256.Sum256(body)
	a, first := j.claim(r.Header.Get("Idempotency-Key"), of)
	switch {
	case first:
		j.work(a, body)
	case a.of != of:
		refuse(w, http.StatusUnprocessableEntity, "this Idempotency-Key was another call's")
		return
	}
	select {
	case <-a.ready:
	case <-r.Context().Done():
		return
	}
	if a.err != nil {
		refuse(w, http.StatusBadRequest, a.err.Error())
		return
	}
	send(w, http.StatusOK, a.reply)
}

// claim finds the answer that is kept under a key, or makes the place for a new one.
func (j *Judge) claim(key string, of [sha256.Size]byte) (a *answer, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a, ok := j.kept[key]; ok {
		return a, false
	}
	a = &answer{of: of, ready: make(chan struct{})}
	if key != "" {
		j.kept[key] = a
	}
	return a, true
}

// work makes an answer. Like a model's, its work is not undone when the caller goes away.
func (j *Judge) work(a *answer, body []byte) {
	defer close(a.ready)
	time.Sleep(j.options.Delay)
	var q request
	if a.err = json.Unmarshal(body, &q); a.err != nil {
		return
	}
	p, err := promptOf(q.Messages)
	if err != nil {
		a.err = err
		return
	}
	exact, err := j.exact(context.Background(), p)
	if err != nil {
		a.err = err
		return
	}
	j.mu.Lock()
	j.stats.Paid++
	bad := j.stats.Paid <= j.options.Bad
	j.mu.Unlock()
	a.reply = replyTo(q, p.verdicts(exact, j.options.draw(exact, p, q.Seed), bad))
}

func replyTo(q request, text string) reply {
	chars := 0
	for _, m := range q.Messages {
		chars += len(m.Content)
	}
	u := usage{Prompt: chars / charsPerToken, Reply: len(text) / charsPerToken}
	u.Total = u.Prompt + u.Reply
	return reply{ID: "simulated", Object: "chat.completion", Model: model, Choices: []choice{{Message: message{"assistant", text}, Finish: "stop"}}, Usage: u}
}

// errNotOurs says that a prompt is not of package reward's form.
var errNotOurs = errors.New("the simulated judge reads only longhaul's own prompts")

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, words string) {
	send(w, status, map[string]any{"error": map[string]any{"message": words}})
}
