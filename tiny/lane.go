package tiny

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/longhaul-rl/longhaul/tiny/nn"
)

const (
	// maxLive is how many requests a lane works on at once. More are slower: their caches leave the CPU's.
	maxLive = 16
	// prefill is how many tokens of a prompt are computed in one step, so that a long prompt does not hold up the
	// others, and scratch memory stays bounded.
	prefill = 64
)

var errClosed = errors.New("the server is closing")

// job is a request being sampled.
type job struct {
	ctx         context.Context
	model       *nn.Model
	prompt      []int32
	most        int // tokens to sample
	stop        stopWords
	temperature float64
	random      *rand.Rand

	seq *nn.Seq

	// The answer; others read it after done is closed.
	out      []int32
	logProbs []float32
	stopped  bool // by a stop word, which the last token completes
	err      error
	done     chan struct{}
	// tokens, when not nil, also gets every sampled token; it has room for all of them and is closed with done.
	tokens chan sampled
}

type sampled struct {
	id      int32
	logProb float32
}

// pending is what the next step computes.
func (j *job) pending() []int32 {
	if n := j.seq.N; n < len(j.prompt) {
		return j.prompt[n:min(n+prefill, len(j.prompt))]
	}
	return j.out[len(j.out)-1:]
}

func (j *job) finish(err error) {
	j.err = err
	if j.tokens != nil {
		close(j.tokens)
	}
	close(j.done)
}

// lane works on requests, one step for all of them at a time; new ones join between steps.
type lane struct {
	queue   *queue
	caches  *caches
	runners map[*nn.Model]*nn.Runner
	live    []*job
	scratch []float32
}

// run works until the queue is closed.
func (l *lane) run() {
	for {
		// Whoever waits for the processor first hands in its next request: fuller steps are cheaper.
		runtime.Gosched()
		jobs, open := l.queue.take(len(l.live))
		if !open {
			for _, j := range l.live {
				j.finish(errClosed)
			}
			return
		}
		for _, j := range jobs {
			j.seq = l.caches.take(j.model, j.prompt)
			l.live = append(l.live, j)
		}
		l.step()
	}
}

// step drops the cancelled requests and gives every other one its next token, or the next part of its prompt.
func (l *lane) step() {
	var models []*nn.Model
	for _, j := range l.live {
		if !slices.Contains(models, j.model) {
			models = append(models, j.model)
		}
	}
	for m := range l.runners {
		if !slices.Contains(models, m) {
			delete(l.runners, m)
		}
	}
	for _, m := range models {
		l.forward(m)
	}
	l.live = slices.DeleteFunc(l.live, func(j *job) bool {
		err := j.ctx.Err()
		if err == nil && !j.complete() {
			return false
		}
		// The cache is there before the answer is: the conversation's next turn may come at once.
		held := slices.Concat(j.prompt, j.out)[:j.seq.N]
		l.caches.give(j.model, held, j.seq)
		l.queue.left()
		j.finish(err)
		return true
	})
}

func (j *job) complete() bool {
	n := len(j.out)
	return n > 0 && (j.out[n-1] == tokenEnd || j.stopped || n == j.most)
}

// forward is a step of the requests that one model serves.
func (l *lane) forward(m *nn.Model) {
	r := l.runners[m]
	if r == nil {
		r = m.NewRunner()
		l.runners[m] = r
	}
	var jobs []*job
	var seqs []*nn.Seq
	var tokens [][]int32
	for _, j := range l.live {
		if j.model == m {
			jobs, seqs, tokens = append(jobs, j), append(seqs, j.seq), append(tokens, j.pending())
		}
	}
	logits := r.Forward(seqs, tokens)
	for i, j := range jobs {
		if j.seq.N < len(j.prompt) {
			continue
		}
		id, logProb := nn.Draw(logits[i*m.V:(i+1)*m.V], j.temperature, j.random.Float64(), &l.scratch)
		j.out, j.logProbs = append(j.out, id), append(j.logProbs, logProb)
		j.stopped = len(j.stop) > 0 && j.stop.in(text(j.out)) >= 0
		if j.tokens != nil {
			j.tokens <- sampled{id, logProb}
		}
	}
}
