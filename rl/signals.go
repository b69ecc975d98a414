package rl

import (
	"cmp"
	"maps"
	"slices"
)

// Signals are what the rollouts of an update tell of how a run learns, beside rewards and the update job's metrics.
// ComputeAdvantages puts them on the ledger, and Publish into the update's summary. Shares are from 0 to 1.
type Signals struct {
	// Rewards is the mean of each reward component: of each metric of the scores whose name begins with reward_, over
	// the members that have it.
	Rewards map[string]float64 `json:"rewards,omitempty"`
	PassAt  []PassRate         `json:"pass_at,omitempty"` // k = 1, 2, 4, ... up to the group size
	// AdvantageTokens is a histogram of the batch's advantages: how many trained tokens have one below
	// AdvantageEdges[0], from there to below AdvantageEdges[1], and so on; the last count is of all others.
	AdvantageTokens []int `json:"advantage_tokens,omitempty"`

	AlikeSolved float64 `json:"alike_solved"` // share of groups whose members all have full reward
	AlikeFailed float64 `json:"alike_failed"` // share of groups whose members all have no reward, or less, and the same
	JudgedAlike float64 `json:"judged_alike"` // share of groups that a judge was asked about and gave, as far as it scored them, the same within JudgedSpread

	Turns     float64 `json:"turns_mean"`         // of a trajectory
	Tokens    float64 `json:"tokens_mean"`        // sampled, of a trajectory
	Truncated float64 `json:"truncated_fraction"` // share of the trajectories that a limit cut off
	Stale     float64 `json:"stale_fraction"`     // share of the rollouts left out as stale
	Lost      float64 `json:"lost_fraction"`      // share of the rollouts left out by a failure or without a score

	Rows int `json:"rows"` // of the batch
	// Broken is the share of the turns that go on from another (Parent) whose prompt does not begin with the tokens so far, so
	// that a new row begins with each; Breaks the same by why.
	Broken float64           `json:"prefix_broken_fraction"`
	Breaks map[Break]float64 `json:"prefix_breaks,omitempty"`
}

// Broke lists the ways in Breaks, the most frequent first.
func (s Signals) Broke() []Break {
	return slices.SortedFunc(maps.Keys(s.Breaks), func(a, b Break) int {
		return cmp.Or(cmp.Compare(s.Breaks[b], s.Breaks[a]), cmp.Compare(a, b))
	})
}

// PassRate is how likely one of k tries at a task solves it (as for UpdateSummary.Success), estimated without bias from the groups that have at
// least k scored members.
type PassRate struct {
	K      int     `json:"k"`
	Rate   float64 `json:"rate"`
	Groups int     `json:"groups"` // that it is a mean over
}

// AdvantageEdges are the bounds of the bins of Signals.AdvantageTokens, the same for all runs and estimators.
var AdvantageEdges = [...]float64{-2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2}

// JudgedSpread is how far a judge's scores of a group may lie apart, at most, and tell nothing.
const JudgedSpread = 0.05
