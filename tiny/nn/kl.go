package nn

// Estimators of a divergence KL(p || q) from tokens that p chose, with x = log q - log p: J. Schulman, Approximating
// KL Divergence, 2020. K1 and K3 have the right mean. Their derivatives by log p, which is what counts in a loss, are
// another matter: on average that of K1 is 0, that of K2 the divergence's own, and that of K3 the one of KL(q || p).
const (
	K1 = "k1" // -x
	K2 = "k2" // x^2 / 2
	K3 = "k3" // e^x - 1 - x, never negative
)

// Estimators are the names that Loss.KL may have.
func Estimators() []string { return []string{K1, K2, K3} }

func k3(x float64) float64 { return exp64(x) - 1 - x }

// estimate is the estimator's value and its derivative with respect to log p.
func estimate(kind string, x float64) (value, slope float64) {
	switch kind {
	case K1:
		return -x, 1
	case K2:
		return float64(x*x) / 2, -x
	}
	return k3(x), 1 - exp64(x)
}

// MismatchWeights are min(exp(old - sampler), limit) per token: they correct for an engine that samples from other
// probabilities than the trainer computes with the same weights, where old is the trainer's log-probability.
// Where the sampler gave NaN, the trainer's own of now stands in: the token counts as sampled on policy, its weight
// times its ratio being 1 (ART's rule). F. Yao and others, Your Efficient RL Framework Secretly Brings You Off-Policy
// RL Training, 2025 (truncated importance sampling).
func MismatchWeights(old, sampler, now []float64, limit float64) []float64 {
	weights := make([]float64, len(old))
	for t, s := range sampler {
		if s != s {
			s = now[t]
		}
		weights[t] = min(exp64(old[t]-s), limit)
	}
	return weights
}

// PenaliseAdvantages puts a divergence from the reference policy into the reward: it lowers the advantage of each trained
// token by coef * (estimate - mean), with the estimate of KL(old || reference) at that token and the mean over
// all trained tokens of the batch, which centres the penalty as a group's mean centres its scores. This is ART's and
// Tinker's form; as the token's own estimate is what is penalised, K1 gives the divergence's gradient. The
// examples need Reference, and get new Advantages.
func PenaliseAdvantages(batch []*Example, estimator string, coef float64) {
	penalties := make([][]float64, len(batch))
	sum, n := 0.0, 0
	for i, e := range batch {
		penalties[i] = make([]float64, len(e.Tokens))
		for _, t := range e.trained() {
			p, _ := estimate(estimator, float64(e.Reference[t])-float64(e.old()[t]))
			penalties[i][t] = p
			sum += p
			n++
		}
	}
	mean := sum / float64(max(1, n))
	for i, e := range batch {
		advantages := make([]float32, len(e.Tokens))
		for _, t := range e.trained() {
			advantages[t] = float32(float64(e.Advantages[t]) - float64(coef*(penalties[i][t]-mean)))
		}
		e.Advantages = advantages
	}
}
