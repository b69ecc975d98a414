package nn

import (
	"fmt"
	"slices"
)

// The policy losses, per trained token, with the importance ratio r = exp(new - old) and the advantage A.
const (
	// PPO is -min(r*A, clip(r, 1-ClipLow, 1+ClipHigh)*A): J. Schulman and others, Proximal Policy Optimization
	// Algorithms, 2017, arXiv:1707.06347; the two sides set apart ("clip higher") as in Q. Yu and others, DAPO,
	// 2025, arXiv:2503.14476. Where the minimum takes the clipped side, the token has no gradient. With a
	// RatioCap the loss of a token with A < 0 does not grow past r = RatioCap either: D. Ye and others, Mastering
	// Complex Control in MOBA Games, 2020, arXiv:1912.09729 ("dual clip").
	PPO = "ppo"
	// CISPO is -stop(clip(r, 1-ClipLow, 1+ClipHigh)) * A * new: every token keeps its gradient and only its
	// weight, through which no gradient runs, is held: MiniMax, MiniMax-M1, 2025, arXiv:2506.13585. A cap of 5 is
	// written ClipHigh 4; ClipLow 1 leaves the weight free below, as in TRL, less holds it on both sides, as in verl.
	CISPO = "cispo"
	// GSPO is PPO with one ratio for the whole row, r = exp(mean over its trained tokens of new - old): C. Zheng
	// and others, Group Sequence Policy Optimization, 2025, arXiv:2507.18071. The gradient is that of section 4.3
	// (GSPO-token), -r*A at each token that is not clipped; where all tokens of a row share their advantage it is
	// the derivative of the loss.
	GSPO = "gspo"
	// SAPO is -4/tau * sigmoid(tau*(r-1)) * A, with tau TauPositive where A > 0 and else TauNegative: a gate that
	// closes smoothly where PPO clips. C. Gao and others, Soft Adaptive Policy Optimization, 2025, arXiv:2511.20347.
	SAPO = "sapo"
)

// Losses are the names that Loss.Kind may have.
func Losses() []string { return []string{CISPO, GSPO, PPO, SAPO} }

// Loss is a policy loss and what is added to it. Zero means "off" for every number but the clip range.
type Loss struct {
	Kind                     string
	ClipLow, ClipHigh        float64
	RatioCap                 float64 // ppo: at least 1+ClipHigh
	TauPositive, TauNegative float64 // sapo
	// OffPolicyMask drops the policy loss of tokens with A < 0 in rows whose log-probabilities have fallen by more
	// than this since they were sampled, in nats, as a mean over the row: DeepSeek-AI, DeepSeek-V3.2, 2025,
	// arXiv:2512.02556, equation 9. The tokens are still counted in means.
	OffPolicyMask float64
	// MismatchCap makes Example.Old the old policy, and weighs each token's policy loss by MismatchWeights.
	MismatchCap float64
	KL          string  // estimator of the divergence from Row.Reference; empty: K3
	KLCoef      float64 // times the estimate is added to the loss
	EntropyCoef float64 // times the entropy, in nats, is taken off the loss
	Reduction   string  // from tokens to a batch; empty: TokenMean
	Length      int     // tokens that a row counts as under Constant
	Tokens      float64 // tokens that a step counts as under GlobalTokenMean
}

// Check says what is wrong with a loss.
func (l Loss) Check() error {
	switch {
	case !slices.Contains(Losses(), l.Kind):
		return fmt.Errorf("loss %q is unknown: want one of %v", l.Kind, Losses())
	case !(l.ClipLow >= 0 && l.ClipLow <= 1) || !(l.ClipHigh >= 0):
		return fmt.Errorf("clip range low %v, high %v: want 0 <= low <= 1 and high >= 0", l.ClipLow, l.ClipHigh)
	case l.RatioCap != 0 && (l.Kind != PPO || !(l.RatioCap >= 1+l.ClipHigh)):
		return fmt.Errorf("ratio cap %v: want at least 1 + clip high, with loss %s", l.RatioCap, PPO)
	case l.Kind == SAPO && !(l.TauPositive > 0 && l.TauNegative > 0):
		return fmt.Errorf("temperatures %v and %v of %s: want more than 0", l.TauPositive, l.TauNegative, SAPO)
	case !(l.OffPolicyMask >= 0 && l.MismatchCap >= 0 && l.KLCoef >= 0 && l.EntropyCoef >= 0):
		return fmt.Errorf("mask %v, cap %v, KL %v, entropy %v: want 0 or more", l.OffPolicyMask, l.MismatchCap, l.KLCoef, l.EntropyCoef)
	case l.KL != "" && !slices.Contains(Estimators(), l.KL):
		return fmt.Errorf("estimator %q is unknown: want one of %v", l.KL, Estimators())
	}
	return l.checkReduction()
}

// lacks says what the loss needs of an example that it does not have.
func (l Loss) lacks(e *Example) error {
	switch {
	case e.SFT:
	case l.KLCoef > 0 && e.Reference == nil:
		return fmt.Errorf("no reference log-probabilities, but a KL coefficient of %v", l.KLCoef)
	case l.MismatchCap > 0 && e.Old == nil:
		return fmt.Errorf("no old log-probabilities, but a mismatch cap of %v", l.MismatchCap)
	}
	return nil
}

// Sum adds up the loss over the row's trained tokens, without the entropy's share, and writes the derivative of
// that sum with respect to New to grad: 0 where Mask is false. Stats.Entropy and GradNorm are left alone. A row
// that is wholly masked gives 0.
func (l Loss) Sum(row Row, grad []float64) (s Stats) {
	sequence, fall := row.moved()
	far := l.OffPolicyMask > 0 && fall > l.OffPolicyMask
	for t, trained := range row.Mask {
		grad[t] = 0
		if !trained {
			continue
		}
		s.Tokens++
		s.KL += k3(row.New[t] - row.sampler(t))
		gap := row.New[t] - row.Old[t]
		if l.Kind == GSPO {
			gap = sequence
		}
		ratio := exp64(gap)
		s.RatioMax = max(s.RatioMax, ratio)
		var o outcome
		if far && row.Advantages[t] < 0 {
			s.OffPolicy++
		} else {
			o = l.token(row.New[t], ratio, row.Advantages[t])
		}
		if row.Weights != nil {
			o.loss, o.grad = float64(o.loss*row.Weights[t]), float64(o.grad*row.Weights[t])
		}
		if row.Reference != nil {
			gap := row.Reference[t] - row.New[t]
			s.ReferenceKL += k3(gap)
			value, slope := estimate(l.KL, gap)
			o.loss += float64(l.KLCoef * value)
			o.grad += float64(l.KLCoef * slope)
		}
		s.take(o)
		grad[t] = o.grad
	}
	return s
}

// outcome is one token's loss, its derivative with respect to the new log-probability, and the sides on which the
// ratio was held.
type outcome struct {
	loss, grad float64
	low, high  bool
}

// token is the policy loss of one token.
func (l Loss) token(logProb, ratio, advantage float64) outcome {
	held := max(min(ratio, 1+l.ClipHigh), 1-l.ClipLow)
	switch l.Kind {
	case CISPO:
		weight := float64(held * advantage)
		return outcome{float64(-weight * logProb), -weight, ratio < 1-l.ClipLow, ratio > 1+l.ClipHigh}
	case SAPO:
		tau := l.TauNegative
		if advantage > 0 {
			tau = l.TauPositive
		}
		gate := 1 / (1 + exp64(float64(-tau*(ratio-1))))
		slope := float64(float64(4*gate) * (1 - gate)) // of the gate's 4/tau-fold, by the ratio
		return outcome{loss: -float64(float64(4*gate)*advantage) / tau, grad: -float64(float64(slope*ratio) * advantage)}
	}
	low, high := ratio < 1-l.ClipLow && advantage < 0, ratio > 1+l.ClipHigh && advantage > 0
	if l.RatioCap > 0 && ratio > l.RatioCap && advantage < 0 {
		held, high = l.RatioCap, true
	}
	if low || high {
		return outcome{float64(-held * advantage), 0, low, high}
	}
	gain := float64(ratio * advantage)
	return outcome{loss: -gain, grad: -gain} // d ratio / d new = ratio
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
