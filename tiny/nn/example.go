package nn

import "fmt"

// Example is one training row. Slices have one length, an entry per token; a demonstration (SFT) needs no
// LogProbs and Advantages.
type Example struct {
	Tokens     []int32
	LossMask   []bool    // true where the policy (or the demonstrator) chose the token; never at the first
	LogProbs   []float32 // natural logarithm under the policy that sampled; looked at where LossMask is true
	Advantages []float32 // looked at where LossMask is true
	// Old is the log-probabilities under the policy as it was when the update began, which ratios are then taken
	// against; with it LogProbs may be NaN where the engine gave none. Nil: they are those of LogProbs.
	Old       []float32
	Reference []float32 // log-probabilities under a reference policy; nil: there is none
	SFT       bool      // plain cross entropy, at temperature 1, instead of the policy loss
}

// check says why the example cannot be trained on.
func (e *Example) check(c Config) error {
	n := len(e.Tokens)
	switch {
	case n == 0 || n > c.Ctx:
		return fmt.Errorf("%d tokens: want 1 to %d", n, c.Ctx)
	case len(e.LossMask) != n || !e.SFT && (len(e.LogProbs) != n || len(e.Advantages) != n):
		return fmt.Errorf("%d tokens, but %d mask values, %d log-probabilities, %d advantages",
			n, len(e.LossMask), len(e.LogProbs), len(e.Advantages))
	case e.LossMask[0]:
		return fmt.Errorf("the first token has a loss, but nothing predicts it")
	}
	for t, id := range e.Tokens {
		if id < 0 || int(id) >= c.V {
			return fmt.Errorf("token %d at %d is outside of the vocabulary of %d", id, t, c.V)
		}
		if !e.LossMask[t] || e.SFT {
			continue
		}
		if p := e.LogProbs[t]; p-p != 0 && (p == p || e.Old == nil) { // infinite, or NaN
			return fmt.Errorf("log-probability %v at %d", p, t)
		}
		if a := e.Advantages[t]; a-a != 0 {
			return fmt.Errorf("advantage %v at %d", a, t)
		}
	}
	return e.checkOthers()
}

// checkOthers is check for the log-probabilities that need not be there.
func (e *Example) checkOthers() error {
	for _, other := range []struct {
		name string
		of   []float32
	}{{"old", e.Old}, {"reference", e.Reference}} {
		if other.of != nil && len(other.of) != len(e.Tokens) {
			return fmt.Errorf("%d tokens, but %d %s log-probabilities", len(e.Tokens), len(other.of), other.name)
		}
		for t, p := range other.of {
			if e.LossMask[t] && p-p != 0 {
				return fmt.Errorf("%s log-probability %v at %d", other.name, p, t)
			}
		}
	}
	return nil
}

// old is what ratios are taken against.
func (e *Example) old() []float32 {
	if e.Old != nil {
		return e.Old
	}
	return e.LogProbs
}

// trained lists the positions with a loss.
func (e *Example) trained() (at []int) {
	for t, m := range e.LossMask {
		if m {
			at = append(at, t)
		}
	}
	return at
}
