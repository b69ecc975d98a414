package activities

import (
	"math"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tinker"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// shifted is a row whose last tokens are trained on.
func shifted(advantage float32, old ...float32) tinker.Row {
	s := rl.Sample{Tokens: []int32{9}, LossMask: []bool{false}, LogProbs: []float32{0}, Advantages: []float32{0}}
	for i, p := range old {
		s.Tokens, s.LossMask = append(s.Tokens, int32(i)), append(s.LossMask, true)
		s.LogProbs, s.Advantages = append(s.LogProbs, p), append(s.Advantages, advantage)
	}
	return tinker.Shifted(s)
}

// The batch of CASES: what TRL, verl and ART make of it, in every way of adding up; here the service adds up its own way
// what it is sent, and must come to the same.
func TestAServicesLossIsTheConfiguredOne(t *testing.T) {
	rows := []tinker.Row{shifted(1, -1.2, -.5, -1.6, -.9), shifted(-.8, -.6, -.9, -1.3), shifted(0)}
	found := [][]float64{{-1, -.5, -2, -.7}, {-.3, -1.2, -.9}, {}}
	for _, c := range []struct {
		loss nn.Loss
		want float64
	}{
		{nn.Loss{Kind: nn.PPO, ClipLow: .2, ClipHigh: .2, Reduction: nn.SequenceMean}, -.023232205},
		{nn.Loss{Kind: nn.PPO, ClipLow: .2, ClipHigh: .28, Reduction: nn.SequenceMean}, -.028582895},
		{nn.Loss{Kind: nn.PPO, ClipLow: .2, ClipHigh: .2, Reduction: nn.TokenMean}, -.165281892},
		{nn.Loss{Kind: nn.PPO, ClipLow: .2, ClipHigh: .2, Reduction: nn.Constant, Length: 8}, -.072310828},
		{nn.Loss{Kind: nn.PPO, ClipLow: .2, ClipHigh: .28, Reduction: nn.GlobalTokenMean, Tokens: 10}, -.119977876},
		{nn.Loss{Kind: nn.CISPO, ClipLow: 1, ClipHigh: 4, Reduction: nn.TokenMean}, .258251342},
	} {
		for _, reduces := range []string{"sequence_mean", "sum"} {
			sent, tokens := scaled(c.loss, reduces, rows)
			if len(sent) != 2 || tokens != 7 {
				t.Fatalf("%d rows, %d tokens: a row without a loss is not sent", len(sent), tokens)
			}
			var stats nn.Stats
			theirs := 0.0
			for i, w := range sent {
				stats.Add(w.stats(c.loss, found[i], tokens))
				sum := 0.0
				for k, a := range w.sent.Advantages {
					sum += serviceLoss(c.loss, found[i][k], float64(w.sent.LogProbs[k]), a)
				}
				if reduces == "sequence_mean" {
					sum /= float64(len(w.sent.Advantages) * len(sent))
				}
				theirs += sum
			}
			ours := stats.Loss / float64(stats.Tokens)
			if math.Abs(theirs-c.want) > 1e-7 || math.Abs(ours-c.want) > 1e-7 {
				t.Errorf("%+v, %s: the service's %.9f, the metric %.9f, want %.9f", c.loss, reduces, theirs, ours, c.want)
			}
		}
	}
}

// serviceLoss is a token's, as in SkyRL 0.3.0's skyrl/tinker/loss_fns.py.
func serviceLoss(l nn.Loss, logProb, old, advantage float64) float64 {
	ratio := math.Exp(logProb - old)
	held := max(min(ratio, 1+l.ClipHigh), 1-l.ClipLow)
	if l.Kind == nn.CISPO {
		return -held * logProb * advantage
	}
	return -min(ratio*advantage, held*advantage)
}
