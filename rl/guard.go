package rl

import "fmt"

// Guard is what the evaluations of a run have decided so far: which version is the best, and how often training went
// back to it. It follows from the evaluations alone, in the order of their updates, so it can be worked out again
// from what is stored.
type Guard struct {
	Best    *BestVersion `json:"best,omitempty"`
	Scale   float64      `json:"scale"`   // of the learning rate; halved by each collapse
	Retries int          `json:"retries"` // collapses gone back from
}

// BestVersion is an evaluated version.
type BestVersion struct {
	Manifest Ref          `json:"manifest"`
	Update   UpdateNumber `json:"update"`
	Success  float64      `json:"success"` // the metric of the promotion rule
}

// GuardRules are the settings that a Guard goes by.
type GuardRules struct {
	Promote  string  `json:"promote"`  // see ParsePromote
	Collapse float64 `json:"collapse"` // share of the best below which a version has collapsed; 0: never
	Retries  int     `json:"retries"`  // how often a run goes back
	Updates  int     `json:"updates"`  // the last update is never gone back from
}

// GuardRules are the run's.
func (c Config) GuardRules() GuardRules {
	return GuardRules{Promote: c.Eval.Promote, Collapse: c.Guard.Collapse, Retries: c.Guard.Retries, Updates: c.Updates}
}

// Verdict is what one evaluation decided.
type Verdict struct {
	Promoted bool   // the version is the new best
	Back     bool   // training goes on from the best version
	Event    string // for people; empty when nothing happened
}

// After is the guard after version n, with that manifest, was evaluated. Errors: Invalid for a rule that cannot be read.
func (g Guard) After(n UpdateNumber, manifest Ref, e Evaluation, rules GuardRules) (Guard, Verdict, error) {
	rule, err := ParsePromote(rules.Promote)
	if err != nil {
		return g, Verdict{}, err
	}
	success := rule.Value(e)
	if g.Best == nil || rule.Better(e, g.Best.Success) {
		g.Best = &BestVersion{Manifest: manifest, Update: n, Success: success}
		return g, Verdict{Promoted: true}, nil
	}
	if success >= rules.Collapse*g.Best.Success || int(n) >= rules.Updates {
		return g, Verdict{}, nil
	}
	fell := fmt.Sprintf("held-out success fell to %.3f, the best was %.3f at update %d; ", success, g.Best.Success, g.Best.Update)
	if g.Retries >= rules.Retries {
		return g, Verdict{Event: fell + fmt.Sprintf("already went back %d times, going on", g.Retries)}, nil
	}
	g.Retries++
	g.Scale /= 2
	return g, Verdict{Back: true, Event: fell + fmt.Sprintf("going back to it with %g of the learning rate", g.Scale)}, nil
}

// Due reports whether version n is evaluated in a run of that many updates: the first, every Every-th and the last.
func (c EvalConfig) Due(n UpdateNumber, updates int) bool {
	return c.Every > 0 && (int(n)%c.Every == 0 || int(n) == updates)
}
