// Package simjudge is a judge without a model: a server of the OpenAI API that answers the prompts of package reward from what it
// reads in them, with errors of a known size. It is for trying things out, the demo and tests: how much a judge may err before
// training suffers, what a run does when its judge is slow, refuses or babbles, and whether a call is ever paid for twice.
//
// It is told nothing but the prompt. From the question and the tools' answers in the attempts it finds the task (replay.go), gets
// each attempt's exact score from the environment, and keeps only which of two attempts is better, with mistakes (draw.go).
package simjudge

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Options are what a simulated judge knows and how it fails.
type Options struct {
	World string       // the environment; its tasks can be played here
	Tasks rl.TaskRange // the train tasks that it may be asked about

	Noise float64 // share of pairs of attempts of which it says something else than what is true
	Bias  float64 // share of pairs of which it prefers the one shown first, whatever they did

	Delay      time.Duration // before each answer
	Limited    int           // calls that are answered by 429 before any is served
	RetryAfter time.Duration // what those are told to wait
	Bad        int           // replies that lack an id before the first good one
	Key        string        // the API key that callers must have; empty: none
}

// Judge is the server. It is safe for concurrent use.
type Judge struct {
	options Options
	world   envs.World
	tasks   map[string][]rl.Task // by the user's question
	mux     *http.ServeMux

	mu    sync.Mutex
	stats Stats
	kept  map[string]*answer // by Idempotency-Key
	// firsts are, by a question and a first call, the tasks by what they answer to it; what is in it is not changed.
	firsts map[string]map[string][]rl.Task
}

// Stats count what a judge did.
type Stats struct {
	Asked int `json:"asked"` // calls that came
	Paid  int `json:"paid"`  // answers that took work: not the refusals, nor a kept answer that was given again
}

// New makes a judge. It plays the beginning of every task once. The error is Invalid, naming the option.
func New(ctx context.Context, o Options) (*Judge, error) {
	for name, v := range map[string]float64{"noise": o.Noise, "bias": o.Bias} {
		if !(v >= 0 && v <= 1) {
			return nil, rl.Errorf(rl.Invalid, "judge simulate", "%s is %v, which is no share from 0 to 1", name, v)
		}
	}
	world, err := envs.Get(o.World)
	if err != nil {
		return nil, err
	}
	j := &Judge{options: o, world: world, mux: http.NewServeMux(), kept: map[string]*answer{}, firsts: map[string]map[string][]rl.Task{}}
	if j.tasks, err = byQuestion(ctx, world, o.Tasks); err != nil {
		return nil, err
	}
	j.mux.HandleFunc("POST /v1/chat/completions", j.complete)
	j.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": model, "object": "model"}}})
	})
	j.mux.HandleFunc("GET /v1/stats", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, j.Stats()) })
	return j, nil
}

// model is the judge's name of itself; it answers to any.
const model = "simulated-judge"

// Stats are the counts so far.
func (j *Judge) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stats
}

// byQuestion is the train tasks in a range by what the user asks first.
func byQuestion(ctx context.Context, world envs.World, tasks rl.TaskRange) (map[string][]rl.Task, error) {
	env := world.New()
	defer env.Close()
	out := map[string][]rl.Task{}
	for i := tasks.First; i <= tasks.Last; i++ {
		task := world.Task(rl.Train, i)
		o, err := env.Reset(ctx, task)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", task.ID, err)
		}
		for _, m := range o.Messages {
			if m.Role == rl.User {
				out[m.Content] = append(out[m.Content], task)
				break
			}
		}
	}
	return out, nil
}
