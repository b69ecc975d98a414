package nn

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// every is a loss of each kind with each reduction, and everything else on.
func every() (losses []Loss) {
	for i, kind := range Losses() {
		for j, reduction := range Reductions() {
			losses = append(losses, Loss{Kind: kind, ClipLow: .2, ClipHigh: .28, TauPositive: 1, TauNegative: 1.05,
				OffPolicyMask: 2, KLCoef: .1, KL: Estimators()[(i+j)%3], Reduction: reduction, Length: 5, Tokens: 7})
		}
	}
	return losses
}

// The token mean of [[1,2,0],[3,4,5],[7,0,0]] with lengths 2, 3, 1 is 22/6, however the rows are split up.
func TestTokenMean(t *testing.T) {
	values, lengths := [][]float64{{1, 2, 0}, {3, 4, 5}, {7, 0, 0}}, []int{2, 3, 1}
	part := func(from, to int) (s Stats) {
		for i := from; i < to; i++ {
			row := Row{New: make([]float64, 3), Mask: make([]bool, 3)}
			for j := range lengths[i] {
				row.New[j], row.Mask[j] = -values[i][j], true
			}
			s.Add(crossEntropy(row, make([]float64, 3)))
		}
		return s
	}
	for split := range 4 {
		s := part(0, split)
		s.Add(part(split, 3))
		if s.Tokens != 6 || s.Loss/6 != 22./6 {
			t.Errorf("split %d: %v over %d tokens", split, s.Loss, s.Tokens)
		}
	}
}

// What is masked is not looked at: NaN and infinities there change nothing; and what is wholly masked is 0.
func TestLossMasked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	row := Row{New: []float64{nan, -1, -inf}, Old: []float64{nan, -1, inf}, Advantages: []float64{inf, 1, nan},
		Reference: []float64{inf, -1, nan}, Weights: []float64{nan, 1, inf}, Sampler: []float64{-inf, nan, inf}, Mask: []bool{false, true, false}}
	masked := row
	masked.Mask = make([]bool, 3)
	for _, l := range every() {
		alone, _, _ := reduced(l, []Row{{New: []float64{-1}, Old: []float64{-1}, Advantages: []float64{1}, Mask: []bool{true}}})
		value, grads, s := reduced(l, []Row{masked, row, masked})
		if math.Abs(value-alone) > 1e-15 || s.Tokens != 1 || s.KL != 0 || s.ReferenceKL != 0 || grads[1][0] != 0 || !(grads[1][1] < 0) || grads[1][2] != 0 {
			t.Errorf("%+v: %v, alone %v; %+v, gradient %v", l, value, alone, s, grads)
		}
		if value, grads, s := reduced(l, []Row{masked, masked}); value != 0 || s != (Stats{}) || slices.Max(grads[0]) != 0 {
			t.Errorf("%+v: a masked batch gives %v, %+v, %v", l, value, s, grads)
		}
	}
}

// aBatch draws rows of up to six tokens, most of them trained. The advantage is the row's where same, else the token's.
func aBatch(t *rapid.T, same bool) (rows []Row) {
	logProb := rapid.Float64Range(-3, 0)
	advantage := rapid.Float64Range(-2, 2)
	for range rapid.IntRange(1, 4).Draw(t, "rows") {
		var r Row
		a := advantage.Draw(t, "advantage")
		for range rapid.IntRange(1, 6).Draw(t, "tokens") {
			if !same {
				a = advantage.Draw(t, "advantage")
			}
			r.New, r.Old = append(r.New, logProb.Draw(t, "new")), append(r.Old, logProb.Draw(t, "old"))
			r.Sampler, r.Reference = append(r.Sampler, logProb.Draw(t, "sampler")), append(r.Reference, logProb.Draw(t, "reference"))
			r.Weights = append(r.Weights, rapid.Float64Range(0, 2).Draw(t, "weight"))
			r.Advantages, r.Mask = append(r.Advantages, a), append(r.Mask, rapid.IntRange(0, 4).Draw(t, "mask") > 0)
		}
		rows = append(rows, r)
	}
	return rows
}

// Each loss's gradient is the finite difference of its value, by any token, off the corners. CISPO's weight has no
// gradient by design: its loss is linear in New once the weights are held, which is what is differentiated there.
func TestLossDerivative(t *testing.T) {
	for _, l := range every() {
		t.Run(l.Kind+" "+l.Reduction, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rows := aBatch(t, l.Kind == GSPO)
				if l.Kind == GSPO {
					for i := range rows {
						rows[i].Weights = nil // a row's tokens share their ratio only while they weigh alike
					}
				}
				if l.Kind == PPO {
					l.RatioCap = rapid.SampledFrom([]float64{0, 1.3, 2}).Draw(t, "cap")
				}
				_, grads, _ := reduced(l, rows)
				for r := range rows {
					for i := range rows[r].New {
						at := func(p float64) float64 {
							moved := slices.Clone(rows)
							moved[r].New = slices.Clone(rows[r].New)
							moved[r].New[i] = p
							if l.Kind == CISPO { // the ratio stays where it was
								moved[r].Old = slices.Clone(rows[r].Old)
								moved[r].Old[i] += p - rows[r].New[i]
							}
							v, _, _ := reduced(l, moved)
							return v
						}
						const h = 1e-6
						p := rows[r].New[i]
						up, down := (at(p+h)-at(p))/h, (at(p)-at(p-h))/h
						if got := grads[r][i]; math.Abs(got-up) > 2e-4*max(1, math.Abs(up)) && math.Abs(got-down) > 2e-4*max(1, math.Abs(down)) {
							t.Fatalf("row %d, token %d: gradient %v, by difference %v above and %v below\n%+v", r, i, got, up, down, rows)
						}
					}
				}
			})
		})
	}
}

// A row that repeats its only kind of token is, to GSPO, what it is to PPO: the mean of equal gaps is the gap.
func TestGSPOOfEqualTokensIsPPO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q, a := rapid.Float64Range(-3, 0).Draw(t, "new"), rapid.Float64Range(-3, 0).Draw(t, "old"), rapid.Float64Range(-2, 2).Draw(t, "advantage")
		row := Row{New: []float64{p, p, p}, Old: []float64{q, q, q}, Advantages: []float64{a, a, a}, Mask: []bool{true, true, true}}
		one, g1, _ := reduced(Loss{Kind: PPO, ClipLow: .2, ClipHigh: .2}, []Row{row})
		other, g2, _ := reduced(Loss{Kind: GSPO, ClipLow: .2, ClipHigh: .2}, []Row{row})
		if math.Abs(one-other) > 1e-12*(1+math.Abs(one)) || math.Abs(g1[0][1]-g2[0][1]) > 1e-12*(1+math.Abs(g1[0][1])) {
			t.Fatalf("%v %v, %v %v", one, g1, other, g2)
		}
	})
}

// Penalising adds nothing and takes nothing away on average, whatever the estimator.
func TestPenaltyIsCentred(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var batch []*Example
		before, n := 0.0, 0
		for _, r := range aBatch(t, false) {
			e := &Example{Tokens: make([]int32, len(r.New)), LossMask: r.Mask, LogProbs: singles(r.Old), Reference: singles(r.Reference), Advantages: singles(r.Advantages)}
			for _, i := range e.trained() {
				before += float64(e.Advantages[i])
				n++
			}
			batch = append(batch, e)
		}
		PenaliseAdvantages(batch, rapid.SampledFrom(Estimators()).Draw(t, "estimator"), .3)
		after := 0.0
		for _, e := range batch {
			for _, i := range e.trained() {
				after += float64(e.Advantages[i])
			}
		}
		if math.Abs(after-before) > 1e-5*float64(n+1) {
			t.Fatalf("sum of advantages %v, then %v", before, after)
		}
	})
}

func TestLossCheck(t *testing.T) {
	nan := math.NaN()
	ppo := func(change func(*Loss)) Loss {
		l := Loss{Kind: PPO, ClipLow: .2, ClipHigh: .2}
		change(&l)
		return l
	}
	for i, bad := range []Loss{{}, ppo(func(l *Loss) { l.Kind = "grpo" }), ppo(func(l *Loss) { l.ClipLow = -.1 }), ppo(func(l *Loss) { l.ClipLow = 1.1 }),
		ppo(func(l *Loss) { l.ClipHigh = -1 }), ppo(func(l *Loss) { l.ClipLow = nan }), ppo(func(l *Loss) { l.ClipHigh = nan }),
		ppo(func(l *Loss) { l.RatioCap = 1.1 }), ppo(func(l *Loss) { l.Kind, l.RatioCap = CISPO, 3 }), ppo(func(l *Loss) { l.RatioCap = nan }),
		ppo(func(l *Loss) { l.Kind = SAPO }), ppo(func(l *Loss) { l.OffPolicyMask = -1 }), ppo(func(l *Loss) { l.MismatchCap = nan }),
		ppo(func(l *Loss) { l.KLCoef = -1 }), ppo(func(l *Loss) { l.EntropyCoef = nan }), ppo(func(l *Loss) { l.KL = "k4" }),
		ppo(func(l *Loss) { l.Reduction = "mean" }), ppo(func(l *Loss) { l.Reduction = Constant }), ppo(func(l *Loss) { l.Reduction = GlobalTokenMean })} {
		if bad.Check() == nil {
			t.Errorf("%d: %+v passes", i, bad)
		}
	}
	good := append(every(), ppo(func(*Loss) {}), ppo(func(l *Loss) { l.ClipLow, l.ClipHigh = 1, 5 }), ppo(func(l *Loss) { l.RatioCap = 1.2 }))
	for _, l := range good {
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	}
}
