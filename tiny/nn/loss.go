package nn

import "fmt"

// The losses. Each is a mean over all trained tokens of a batch ("token mean": TRL's bnpo, verl's token-mean),
// so a long sequence weighs by its tokens and a masked one not at all.
const (
	// PPO is -min(r*A, clip(r, 1-ClipLow, 1+ClipHigh)*A) with r = exp(new - old): J. Schulman and others,
	// Proximal Policy Optimization, 2017; the two sides set apart ("clip higher") as in Q. Yu and others, DAPO,
	// 2025. Where the minimum takes the clipped side, the token has no gradient.
	PPO = "ppo"
	// CISPO is -stop(min(r, 1+ClipHigh)) * A * new: every token keeps its gradient and only its weight, through
	// which no gradient runs, is capped: MiniMax, MiniMax-M1, 2025. As in TRL the ratio is capped above only
	// (ClipLow is not used), and a cap of 5 is written ClipHigh 4.
	CISPO = "cispo"
)

// Loss is a policy loss with its clip range.
type Loss struct {
	Kind     string // PPO or CISPO
	ClipLow  float64
	ClipHigh float64
}

// Check says what is wrong with a loss.
func (l Loss) Check() error {
	if l.Kind != PPO && l.Kind != CISPO {
		return fmt.Errorf("loss %q is unknown: want %s or %s", l.Kind, PPO, CISPO)
	}
	if !(l.ClipLow >= 0 && l.ClipLow <= 1) || !(l.ClipHigh >= 0) {
		return fmt.Errorf("clip range low %v, high %v: want 0 <= low <= 1 and high >= 0", l.ClipLow, l.ClipHigh)
	}
	return nil
}

// Row is what a loss knows of one sequence: slices of one length, an entry per token. Log-probabilities are
// natural. Where Mask is false the other values are not looked at (they may be NaN).
type Row struct {
	New        []float64 // under the policy that is trained
	Old        []float64 // under the policy that sampled the token
	Advantages []float64
	Mask       []bool
}

// Sum adds up the loss over the row's trained tokens, and writes the derivative of that sum with respect to
// New to grad: 0 where Mask is false. Stats.Entropy and GradNorm are left alone. A row that is wholly masked
// gives 0.
func (l Loss) Sum(row Row, grad []float64) (s Stats) {
	for t, trained := range row.Mask {
		grad[t] = 0
		if !trained {
			continue
		}
		gap := row.New[t] - row.Old[t]
		ratio := exp64(gap)
		s.Tokens++
		s.KL += ratio - 1 - gap
		low, high := l.clipped(ratio, row.Advantages[t])
		if low {
			s.ClippedLow++
		}
		if high {
			s.ClippedHigh++
		}
		loss, g := l.token(row.New[t], ratio, row.Advantages[t], low || high)
		s.Loss += loss
		grad[t] = g
	}
	return s
}

// clipped reports on which side the clip range holds a token back.
func (l Loss) clipped(ratio, advantage float64) (low, high bool) {
	if l.Kind == CISPO {
		return false, ratio > 1+l.ClipHigh
	}
	return ratio < 1-l.ClipLow && advantage < 0, ratio > 1+l.ClipHigh && advantage > 0
}

// token is one token's loss and its derivative with respect to the new log-probability.
func (l Loss) token(logProb, ratio, advantage float64, clipped bool) (loss, grad float64) {
	if l.Kind == CISPO {
		weight := float64(min(ratio, 1+l.ClipHigh) * advantage)
		return float64(-weight * logProb), -weight
	}
	if clipped {
		ratio = min(max(ratio, 1-l.ClipLow), 1+l.ClipHigh)
		return float64(-ratio * advantage), 0
	}
	gain := float64(ratio * advantage)
	return -gain, -gain // d ratio / d new = ratio
}

// crossEntropy is Loss.Sum for demonstrations: -New at every trained token.
func crossEntropy(row Row, grad []float64) (s Stats) {
	for t, trained := range row.Mask {
		grad[t] = 0
		if trained {
			s.Tokens++
			s.Loss -= row.New[t]
			grad[t] = -1
		}
	}
	return s
}
