package workers

import (
	"errors"
	"testing"
)

// Every worker that ends by itself is told of, and none waits for a listener. (The SDK calls OnFatalError after two
// minutes of refusals, so the worker here is not a real one.)
func TestFailedWorkersAreTold(t *testing.T) {
	w := &Workers{failed: make(chan error, len(Queues))}
	cause := errors.New("namespace gone")
	for _, q := range Queues {
		options(q, w.failed).OnFatalError(cause)
	}
	for _, q := range Queues {
		err := <-w.Failed()
		if want := "the worker for queue " + q + " ended: namespace gone"; err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
