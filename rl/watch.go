package rl

import (
	"maps"
	"time"
)

// Watch is what the updates of a run have told so far of how it learns: which warnings stand, and what the run was like
// early and of late. Each update's follows from the one before and from the update's own summary, which it is part of.
type Watch struct {
	// Standing are the warnings whose conditions hold, by name, with the update that they began with.
	Standing map[string]UpdateNumber `json:"standing,omitempty"`
	Early    Early                   `json:"early"`
	UsualKL  Mean                    `json:"usual_kl"` // moving, over about usualUpdates updates
}

// Early is the mean of the first earlyUpdates updates that told.
type Early struct {
	Entropy   Mean `json:"entropy"` // nats a token
	Tokens    Mean `json:"tokens_mean"`
	Truncated Mean `json:"truncated_fraction"`
}

// Mean is a mean of N values.
type Mean struct {
	Value float64 `json:"value"`
	N     int     `json:"n"`
}

// Warning is the kind of the events that say what a person should change.
const Warning = "warning"

const (
	earlyUpdates = 3 // what is relative to a run's beginning is judged from then on
	usualUpdates = 8
)

// After is the watch after one more update, and the warnings that begin with it. A warning begins when its condition
// reaches one bound, and ends when it falls below another, lower one: it is told once in between. A number that the
// update does not have neither begins nor ends anything.
func (w Watch) After(u UpdateSummary, cfg Config) (Watch, []Event) {
	if u.Update == 0 { // a warm-up or another run's checkpoint: nothing was tried
		return w, nil
	}
	s := seen{u: u, before: w, cfg: cfg}
	if u.Signals != nil {
		s.Signals = *u.Signals
	}
	w.Standing = maps.Clone(w.Standing)
	var begun []Event
	for _, c := range conditions {
		bad, known := c.value(s)
		_, stands := w.Standing[c.name]
		switch {
		case known && !stands && bad >= c.from:
			if w.Standing == nil {
				w.Standing = map[string]UpdateNumber{}
			}
			w.Standing[c.name] = u.Update
			begun = append(begun, Event{Time: u.Time.UTC().Truncate(time.Second), Update: u.Update, Kind: Warning, Name: c.name, Text: c.words(s)})
		case known && stands && bad < c.until:
			delete(w.Standing, c.name)
		}
	}
	w.learn(s)
	return w, begun
}

// learn takes in what the run is like.
func (w *Watch) learn(s seen) {
	if entropy, ok := s.metric("entropy"); ok {
		w.Early.Entropy.first(entropy)
	}
	if s.u.Signals != nil {
		w.Early.Tokens.first(s.Tokens)
		w.Early.Truncated.first(s.Truncated)
	}
	_, spikes := w.Standing[klSpike]
	if kl, ok := s.metric("kl"); ok && !spikes { // else the spike would become the usual
		w.UsualKL.add(kl, usualUpdates)
	}
}

// first adds one of the first earlyUpdates values; later ones are not looked at.
func (m *Mean) first(v float64) {
	if m.N < earlyUpdates {
		m.add(v, earlyUpdates)
	}
}

// add counts one more value, which weighs as one of at most so many.
func (m *Mean) add(v float64, most int) {
	m.N = min(m.N+1, most)
	m.Value += (v - m.Value) / float64(m.N)
}
