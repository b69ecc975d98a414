package main

import (
	"time"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
)

// updateEvent is a line of `demo --json` and `train --json`: one update is done.
type updateEvent struct {
	Event                string          `json:"event"` // "update"
	Time                 time.Time       `json:"time"`
	Run                  rl.RunID        `json:"run"`
	Update               rl.UpdateNumber `json:"update"`
	Success              float64         `json:"success"`
	RewardMean           float64         `json:"reward_mean"`
	RewardStd            float64         `json:"reward_std"`
	ZeroVarianceFraction float64         `json:"zero_variance_fraction"`
	Loss                 float64         `json:"loss"`
	Tokens               int             `json:"tokens"`
	Turns                int             `json:"turns"`
	Seconds              rl.Seconds      `json:"seconds"`

	LearningRate float64            `json:"learning_rate,omitempty"`
	Metrics      map[string]float64 `json:"metrics,omitempty"` // of the update job
	Signals      *rl.Signals        `json:"signals,omitempty"`
}

// eventEvent is something that a person should hear of; see rl.Event.
type eventEvent struct {
	Event  string          `json:"event"`          // rl.Event's kind: collapse, checkpoint_fallback, warning ...
	Name   string          `json:"name,omitempty"` // of a warning: entropy_collapse ...
	Time   time.Time       `json:"time"`
	Run    rl.RunID        `json:"run"`
	Update rl.UpdateNumber `json:"update"`
	Text   string          `json:"text"`
}

// doneEvent is the last line of `demo --json` and `train --json`.
type doneEvent struct {
	Event       string         `json:"event"` // "done"
	Time        time.Time      `json:"time"`
	Run         rl.RunID       `json:"run"`
	Updates     int            `json:"updates"`
	Checkpoint  doneCheckpoint `json:"checkpoint"`
	Heldout     heldout        `json:"heldout"`
	WallSeconds float64        `json:"wall_seconds"`
}

type doneCheckpoint struct {
	Version rl.Version `json:"version"`
	SHA256  string     `json:"sha256"` // of the manifest
}

// heldout compares the first and the last policy. Before and After are the lower of greedy and sampled success, with
// that rate's 95 % interval.
type heldout struct {
	Tasks      int        `json:"tasks"`
	Before     float64    `json:"before"`
	After      float64    `json:"after"`
	BeforeCI   [2]float64 `json:"before_ci"`
	AfterCI    [2]float64 `json:"after_ci"`
	BeforePlay play       `json:"before_play"`
	AfterPlay  play       `json:"after_play"`
}

type play struct {
	Greedy  float64 `json:"greedy"`
	Sampled float64 `json:"sampled"`
}

func compared(before, after rl.Evaluation) heldout {
	h := heldout{Tasks: after.Tasks, BeforePlay: play{before.Greedy.Mean, before.Sampled.Mean}, AfterPlay: play{after.Greedy.Mean, after.Sampled.Mean}}
	h.Before, h.BeforeCI = lower(before)
	h.After, h.AfterCI = lower(after)
	return h
}

func lower(e rl.Evaluation) (float64, [2]float64) {
	r := e.Greedy
	if e.Sampled.Mean < r.Mean {
		r = e.Sampled
	}
	return r.Mean, [2]float64{r.Low, r.High}
}

// updates writes the updates of a run as they are done: JSON lines, a live table, or lines of text.
type updates struct {
	*output
	table  render.Table
	titled bool
}

func (o *output) updates(total int) *updates {
	return &updates{output: o, table: render.Table{Updates: total, Width: o.width, Style: o.progress}}
}

// done writes one update. eta is the time that the run has still to go, negative when unknown.
func (t *updates) done(u rl.UpdateSummary, eta time.Duration) error {
	if t.json {
		err := t.object(updateEvent{"update", u.Time, u.Run, u.Update, u.Success, u.RewardMean, u.RewardStd, u.ZeroVarianceFraction, u.Loss, u.Tokens, u.Turns, u.Seconds, u.LearningRate, u.Metrics, u.Signals})
		if err != nil {
			return err
		}
	}
	switch {
	case t.quiet:
	case t.live:
		text := t.table.Row(u, eta)
		if !t.titled {
			text, t.titled = t.table.Header()+text, true
		}
		_, err := t.besideLive().Write([]byte(text))
		return err
	default:
		t.say("%s", t.table.Line(u, eta))
	}
	return nil
}

// event tells of something that happened to the run.
func (t *updates) event(run rl.RunID, e rl.Event) error {
	t.say("%s at update %d: %s", e.Kind, e.Update, e.Text)
	if t.json {
		return t.object(eventEvent{e.Kind, e.Name, e.Time, run, e.Update, e.Text})
	}
	return nil
}

// evaluationEvent is a line of `demo --json` and `train --json`: a version was evaluated on held-out tasks.
type evaluationEvent struct {
	Event   string          `json:"event"` // "evaluation"
	Time    time.Time       `json:"time"`
	Run     rl.RunID        `json:"run"`
	Update  rl.UpdateNumber `json:"update"`
	Version rl.Version      `json:"version"`
	Tasks   int             `json:"tasks"`
	Greedy  rl.Rate         `json:"greedy"`
	Sampled rl.Rate         `json:"sampled"`
}

// warmUpEvent is a line of `demo --json` and `train --json`: the initial policy is there.
type warmUpEvent struct {
	Event   string     `json:"event"` // "warm_up"
	Time    time.Time  `json:"time"`
	Run     rl.RunID   `json:"run"`
	Version rl.Version `json:"version"`
	Success float64    `json:"success"` // greedy, on easy tasks
	Seconds float64    `json:"seconds"`
}

// evaluation tells of one evaluation.
func (t *updates) evaluation(e rl.Evaluation) error {
	t.say("%s", render.Evaluation(e))
	if !t.json {
		return nil
	}
	_, n, err := e.Version.Parse()
	if err != nil {
		return err
	}
	return t.object(evaluationEvent{"evaluation", time.Now().UTC(), e.Run, n, e.Version, e.Tasks, e.Greedy, e.Sampled})
}

// started tells that the initial policy is there.
func (t *updates) started(u rl.UpdateSummary) error {
	if _, warm := u.Metrics["warm_up_updates"]; !warm {
		t.say("%s is ready: it begins with another run's checkpoint", u.Version)
		return nil
	}
	t.say("%s is ready: %.0f batches of demonstrations, easy tasks solved greedily: %.0f %%, %.0f s", u.Version, u.Metrics["warm_up_updates"], 100*u.Metrics["warm_up_success"], u.Seconds.Update)
	if t.json {
		return t.object(warmUpEvent{"warm_up", u.Time, u.Run, u.Version, u.Metrics["warm_up_success"], u.Seconds.Update})
	}
	return nil
}
