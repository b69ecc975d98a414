package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"sync"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// Episode is an episode whose turns an agent asks for. It is safe for concurrent use: an agent may have sub-agents.
type Episode struct {
	rollout.Options
	URL string // the base URL for the agent's client, with /v1
	Key string // and its key

	token  string
	key    [sha256.Size]byte
	server *Server
	client *policy.Client
	seat   chan *policy.Seat // the episode's place among the live ones, when no request has it
	live   context.Context   // the episode's time
	lasts  context.Context   // what the record may take, which is not cut off half-way

	room   chan struct{}  // holds a token for each request under way
	taking sync.WaitGroup // turns under way
	record sync.Mutex     // of one turn at a time: they are numbered

	mu      sync.Mutex
	told    histories
	asks    map[string][]*ask // of this run of the agent, by the question's hash
	answers map[string]*ask   // by the answer's id
	taken   int               // turns of this run of the agent
	asked   int               // requests that were let in
	heard   int               // of these, how many were when the agent was last told anything
	full    bool              // the last answer was that the context is full
	over    chan struct{}     // closed when the agent is to be stopped
	stop    rl.StopReason
	err     error
}

// end ends the episode: with a reason to stop, or an error. Only the first counts. mu is held.
func (e *Episode) end(stop rl.StopReason, err error) {
	if !e.ended() {
		e.stop, e.err = stop, err
		close(e.over)
	}
}

func (e *Episode) ended() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// allows reports whether a request's key is the episode's.
func (e *Episode) allows(key string) bool {
	given := sha256.Sum256([]byte(key))
	return subtle.ConstantTimeCompare(given[:], e.key[:]) == 1
}

// errGone is what a handler returns whose request gets no answer: its client went away, or the episode is over.
var errGone = errors.New("the request gets no answer")

// together is how many requests of an episode are under way at once; others wait.
const together = 64

// enter waits for room for a request; leave gives it back. Error: errGone.
func (e *Episode) enter(ctx context.Context) error {
	select {
	case e.room <- struct{}{}:
		return nil
	case <-ctx.Done():
	case <-e.over:
	}
	return errGone
}

func (e *Episode) leave() { <-e.room }

// given is the answer with an id, if the agent was given one.
func (e *Episode) given(id string) *turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.answers[id]; a != nil {
		return a.turn
	}
	return nil
}
