package rl

import (
	"math"
	"strings"
)

// Sample is one training row: a token sequence with what to learn from it. All slices have one length.
type Sample struct {
	Episode    EpisodeID
	Tokens     []int32
	LossMask   []bool    // true where the policy sampled the token
	LogProbs   []float32 // behaviour log-probability of sampled tokens (natural logarithm); NaN elsewhere
	Advantages []float32 // 0 where LossMask is false
}

// Batch is the rows of one update, in a fixed order.
type Batch struct {
	Samples  []Sample
	Versions []Version // distinct policy versions that sampled it, oldest first
}

// TrainedTokens counts the positions with a loss.
func (b Batch) TrainedTokens() (n int) {
	for _, s := range b.Samples {
		for _, m := range s.LossMask {
			if m {
				n++
			}
		}
	}
	return n
}

// LeftOut is why a rollout that was asked for is not in the batch.
type LeftOut string

const (
	ZeroVariance LeftOut = "zero_variance"      // its whole group was scored alike
	JudgeFlat    LeftOut = "judge_flat"         // its group's scores differ by no more than the judge's own noise
	Singleton    LeftOut = "singleton"          // alone in its group: no relative information
	Unscored     LeftOut = "unscored"           // the reward gave no value
	BelowQuorum  LeftOut = "below_quorum"       // too few of its group were scored
	Stale        LeftOut = "stale"              // sampled by a version older than max_staleness allows
	NoLogProbs   LeftOut = "no_logprobs"        // the server gave no token ids or log-probabilities
	NoAction     LeftOut = "no_action"          // the episode ended before the policy acted
	Voided       LeftOut = "voided"             // interrupted in a way that it could not go on from
	EnvFailed    LeftOut = "failed_environment" // infrastructure, not the agent
	PolicyFailed LeftOut = "failed_policy"
	JudgeFailed  LeftOut = "failed_judge"
	StoreFailed  LeftOut = "failed_store"
)

// LeftOutOf reads the boundary that the reason of a failure begins with, as in "failed_policy: 503"; other words are
// of the given kind.
func LeftOutOf(reason string, otherwise LeftOut) LeftOut {
	kind, _, _ := strings.Cut(reason, ":")
	switch k := LeftOut(strings.TrimSpace(kind)); k {
	case EnvFailed, PolicyFailed, JudgeFailed, StoreFailed, Voided:
		return k
	}
	return otherwise
}

// Quorum is how many of n a share asks for. The product is rounded, so that .7 of 10 is 7.
func Quorum(share float64, n int) int { return int(math.Ceil(share*float64(n) - 1e-9)) }

// Ledger says where every rollout of an update ended. Asked == Trained + sum(LeftOut), always.
type Ledger struct {
	Schema  string          `json:"schema"` // LedgerSchema
	Run     RunID           `json:"run"`
	Update  UpdateNumber    `json:"update"`
	Asked   int             `json:"asked"`
	Trained int             `json:"trained"`
	LeftOut map[LeftOut]int `json:"left_out"`
	Tokens  int             `json:"tokens"` // sampled tokens of all trajectories
	USD     float64         `json:"usd"`    // what judging cost
	Judge   Spent           `json:"judge,omitzero"`
	Notes   []Note          `json:"notes,omitempty"` // how groups were judged, where that is out of the ordinary
	// Truncated counts the episodes that were cut off; they are among the others.
	Truncated int  `json:"truncated"`
	Balanced  bool `json:"balanced"` // the sums agree
	// PutOff counts the tasks that the curriculum passed over when it chose those of this update, by how their groups
	// were alike.
	PutOff  map[Alike]int `json:"put_off,omitempty"`
	Signals *Signals      `json:"signals,omitempty"`
	Slots   []Slot        `json:"slots"`
}

// LedgerSchema is the version of the Ledger JSON form.
const LedgerSchema = "longhaul/ledger/1"

// Note is what is to be said of the judgement of a task's group.
type Note struct {
	Task TaskID `json:"task"`
	Text string `json:"text"`
}

// Slot is one rollout's line on the ledger.
type Slot struct {
	Task    TaskID  `json:"task"`
	Member  int     `json:"member"`
	LeftOut LeftOut `json:"left_out,omitempty"` // empty: trained
	Why     string  `json:"why,omitempty"`      // the failure's own words
	Tokens  int     `json:"tokens"`
	Turns   int     `json:"turns"`
	// Stop is why the episode ended; empty where there is no trajectory.
	Stop    StopReason `json:"stop,omitempty"`
	Score   float64    `json:"score"`
	Samples int        `json:"samples"` // training rows; more than 1 where the history changed
}

// Balance sets Balanced from the counts and the slots.
func (l *Ledger) Balance() {
	left := 0
	for _, n := range l.LeftOut {
		left += n
	}
	l.Balanced = l.Asked == l.Trained+left && l.Asked == len(l.Slots)
}
