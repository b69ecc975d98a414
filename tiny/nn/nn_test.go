package nn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/longhaul-rl/longhaul/tiny/kern"
)

// small is a shape whose widths are not round: a vocabulary with a narrow last panel, F no multiple of 32.
var small = Config{V: 50, D: 64, L: 2, F: 88, Ctx: 128}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// drawn is an example with random tokens and advantages of which about two thirds are trained.
func drawn(r *rand.Rand, c Config, n int, sft bool) *Example {
	e := &Example{SFT: sft}
	for i := range n {
		e.Tokens = append(e.Tokens, r.Int32N(int32(c.V)))
		e.LossMask = append(e.LossMask, i > 3 && i%3 != 0)
		e.LogProbs = append(e.LogProbs, float32(-4+r.Float64()))
		e.Advantages = append(e.Advantages, float32(r.NormFloat64()))
	}
	return e
}

// eachMode runs f once for every instruction set of this machine.
func eachMode(t *testing.T, f func(mode string)) {
	before, err := kern.Mode()
	if err != nil {
		t.Log(err)
	}
	defer kern.SetMode(before)
	for _, mode := range kern.Modes() {
		if err := kern.SetMode(mode); err != nil {
			t.Fatal(err)
		}
		f(mode)
	}
}

// The gradient of every kind of loss agrees with finite differences of its value.
func TestGradient(t *testing.T) {
	r := source(3)
	sft, policy := drawn(r, small, 70, true), drawn(r, small, 70, false)
	alike, flat := *policy, *policy // one advantage for all tokens; none, so that only the bonus is left
	alike.Advantages, flat.Advantages = make([]float32, 70), make([]float32, 70)
	for i := range alike.Advantages {
		alike.Advantages[i] = -1
	}
	alike.Reference = append([]float32{}, policy.LogProbs...)
	for _, c := range []struct {
		name        string
		e           *Example
		loss        Loss
		temperature float64
	}{
		{"demonstration", sft, Loss{Kind: PPO, ClipLow: .2, ClipHigh: .2}, 1},
		{"ppo", policy, Loss{Kind: PPO, ClipLow: 1, ClipHigh: 100}, 1}, // a range that nothing leaves: finite differences need no corners
		{"ppo at temperature 0.7", policy, Loss{Kind: PPO, ClipLow: 1, ClipHigh: 100}, 0.7},
		{"entropy", &flat, Loss{Kind: PPO, ClipLow: 1, ClipHigh: 100, EntropyCoef: 5}, 1},
		{"ppo and entropy at temperature 0.7", policy, Loss{Kind: PPO, ClipLow: 1, ClipHigh: 100, EntropyCoef: 5}, 0.7},
		{"gspo", &alike, Loss{Kind: GSPO, ClipLow: 1, ClipHigh: 100}, 1},
		{"gspo and k3", &alike, Loss{Kind: GSPO, ClipLow: 1, ClipHigh: 100, KLCoef: 2}, 1},
		{"sapo and k2", &alike, Loss{Kind: SAPO, TauPositive: 1, TauNegative: 1.05, KL: K2, KLCoef: 2}, 1},
	} {
		m := New(small, 1)
		l, tape := newLane(small), newTape(m)
		l.step(tape, c.e, c.loss, c.temperature, size{1, 1})
		value := func() float64 {
			m.Repack()
			v := newLane(small)
			v.step(tape, c.e, c.loss, c.temperature, size{1, 1})
			return v.Loss
		}
		wrong := 0
		for n := range 60 {
			i := r.IntN(len(m.W))
			if n < 10 {
				i = int(c.e.Tokens[n])*small.D + n // an embedding that is used
			}
			const h = 3e-3
			before := m.W[i]
			m.W[i] = before + h
			up := value()
			m.W[i] = before - h
			down := value()
			m.W[i] = before
			want := (up - down) / (2 * h)
			if got := float64(l.grad[i]); math.Abs(got-want) > 0.02*math.Abs(want)+0.02 {
				t.Logf("%s: weight %d: gradient %.5f, by difference %.5f", c.name, i, got, want)
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of 60 gradients are wrong", c.name, wrong)
		}
	}
}

// What a Runner gives, in ragged batches, equals what the trainer computes, bit for bit.
func TestSamplerEqualsTrainer(t *testing.T) {
	c := Config{V: 264, D: 64, L: 2, F: 96, Ctx: 128}
	const count, length = 5, 100
	for _, temperature := range []float64{1, 0.7} {
		eachMode(t, func(mode string) {
			m, r := New(c, 1), source(3)
			var examples []*Example
			for range count {
				e := drawn(r, c, length, false)
				for i := range e.LossMask {
					e.LossMask[i] = i > 0
				}
				examples = append(examples, e)
			}
			trainer := NewTrainer(m, 1)
			trainer.Temperature = temperature
			want, err := trainer.Score(examples)
			if err != nil {
				t.Fatal(err)
			}
			got := sampled(m, examples, temperature)
			for i := range want {
				for at := 10*i + 1; at < length; at++ {
					if math.Float32bits(got[i][at]) != math.Float32bits(want[i][at]) {
						t.Fatalf("%s, temperature %v: example %d at %d: sampler %v, trainer %v", mode, temperature, i, at, got[i][at], want[i][at])
					}
				}
			}
		})
	}
}

// sampled feeds the examples' tokens to one Runner: sequence i begins with 10*i+1 tokens at once, then goes on
// one by one, and drops out of the batch when it is through.
func sampled(m *Model, examples []*Example, temperature float64) [][]float32 {
	runner, at := m.NewRunner(), make([]int, len(examples))
	var caches []*Seq
	got := make([][]float32, len(examples))
	for i, e := range examples {
		caches, got[i] = append(caches, m.NewSeq()), make([]float32, len(e.Tokens))
	}
	for {
		var seqs []*Seq
		var toks [][]int32
		var who []int
		for i, e := range examples {
			n := 1
			if at[i] == 0 {
				n = 10*i + 1
			}
			if at[i]+n < len(e.Tokens) {
				seqs, toks, who = append(seqs, caches[i]), append(toks, e.Tokens[at[i]:at[i]+n]), append(who, i)
				at[i] += n
			}
		}
		if len(who) == 0 {
			return got
		}
		logits := runner.Forward(seqs, toks)
		for k, i := range who {
			got[i][at[i]] = LogProbAt(logits[k*m.V:(k+1)*m.V], examples[i].Tokens[at[i]], temperature)
		}
	}
}

// A sequence's logits do not depend on what shares its batch, on how it is cut into calls, or on what a cache
// held before its tail was dropped.
func TestForwardAlone(t *testing.T) {
	m, r := New(small, 2), source(5)
	tokens := drawn(r, small, 40, true).Tokens
	whole := append([]float32{}, m.NewRunner().Forward([]*Seq{m.NewSeq()}, [][]int32{tokens})...)
	same := func(what string, got []float32) {
		t.Helper()
		for i, v := range whole {
			if math.Float32bits(v) != math.Float32bits(got[i]) {
				t.Fatalf("%s: logit %d is %v, not %v", what, i, got[i], v)
			}
		}
	}
	runner, s := m.NewRunner(), m.NewSeq()
	var last []float32
	for _, id := range tokens {
		last = runner.Forward([]*Seq{s}, [][]int32{{id}})
	}
	same("token by token", last)
	s.N = 13
	same("tail dropped", runner.Forward([]*Seq{s}, [][]int32{tokens[13:]}))
	seqs, toks := []*Seq{m.NewSeq()}, [][]int32{tokens}
	for i := range 11 {
		seqs, toks = append(seqs, m.NewSeq()), append(toks, tokens[i:i+7])
	}
	same("in a batch", runner.Forward(seqs, toks)[:m.V])
}

func TestConfigCheck(t *testing.T) {
	for _, bad := range []Config{{}, {V: 10, D: 33, L: 1, F: 8, Ctx: 8}, {V: -1, D: 32, L: 1, F: 8, Ctx: 8},
		{V: 1 << 30, D: 32, L: 1, F: 8, Ctx: 8}, {V: 1 << 16, D: 1 << 16, L: 1 << 16, F: 1 << 16, Ctx: 8}} {
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	if small.NumParams() != len(New(small, 1).W) || small.Heads() != 2 {
		t.Error(small.NumParams(), small.Heads())
	}
}
