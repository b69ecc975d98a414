package nn

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// sumRows is the loss over the rows of a batch, divided by their trained tokens, and its derivatives.
func sumRows(l Loss, rows []Row) (Stats, [][]float64) {
	var s Stats
	var grads [][]float64
	for _, r := range rows {
		g := make([]float64, len(r.New))
		s.Add(l.Sum(r, g))
		grads = append(grads, g)
	}
	for _, g := range grads {
		for i := range g {
			g[i] /= float64(s.Tokens)
		}
	}
	return s, grads
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.10f, want %.10f", what, got, want)
	}
}

func all(n int) (mask []bool) {
	for range n {
		mask = append(mask, true)
	}
	return mask
}

func repeat(v float64, n int) (row []float64) {
	for range n {
		row = append(row, v)
	}
	return row
}

// The values of the first row of CASES "Loss".
func TestLossValues(t *testing.T) {
	row := Row{
		Old: []float64{-.5, -1, -3, -5}, New: []float64{-.4, -1.5, -2, -6},
		Advantages: []float64{1, -1, .5, -.5}, Mask: all(4),
	}
	ppo, _ := sumRows(Loss{PPO, .2, .2}, []Row{row})
	near(t, "ppo", ppo.Loss/4, -.12629273, 5e-9)
	if ppo.ClippedLow != 2 || ppo.ClippedHigh != 1 {
		t.Errorf("ppo clipped %d low, %d high", ppo.ClippedLow, ppo.ClippedHigh)
	}
	cispo, _ := sumRows(Loss{CISPO, 0, 4}, []Row{row})
	near(t, "cispo", cispo.Loss/4, .28672897, 5e-9)
}

// The batch that TRL, verl and openpipe-art were run on ("One batch, many losses"), token mean.
func TestLossGradients(t *testing.T) {
	rows := []Row{
		{New: []float64{-1, -.5, -2, -.7}, Old: []float64{-1.2, -.5, -1.6, -.9}, Advantages: repeat(1, 4), Mask: all(4)},
		{New: []float64{-.3, -1.2, -.9, -1.5}, Old: []float64{-.6, -.9, -1.3, -1.1}, Advantages: repeat(-.8, 4),
			Mask: []bool{true, true, true, false}},
	}
	onPolicy := []Row{rows[0], rows[1]}
	onPolicy[0].Old, onPolicy[1].Old = rows[0].New, rows[1].New
	for _, c := range []struct {
		name  string
		loss  Loss
		rows  []Row
		scale float64 // from token mean to the reduction of the published value
		value float64
		grads [2][4]float64
	}{
		{"ppo .2/.2 token mean", Loss{PPO, .2, .2}, rows, 1, -.165281892,
			[2][4]float64{{0, -.14285714, -.09576001, 0}, {.15426958, 0, .17049425, 0}}},
		{"ppo .2/.2, sum / 16", Loss{PPO, .2, .2}, rows, 7.0 / 16, -.072310828,
			[2][4]float64{{0, -.0625, -.041895, 0}, {.06749294, 0, .07459123, 0}}},
		{"ppo .2/.28, sum / 10", Loss{PPO, .2, .28}, rows, .7, -.119977876,
			[2][4]float64{{-.12214028, -.1, -.067032, -.12214028}, {.1079887, 0, .11934598, 0}}},
		{"cispo cap 5 token mean", Loss{CISPO, 0, 4}, rows, 1, .258251342,
			[2][4]float64{{-.17448611, -.14285714, -.09576001, -.17448611}, {.15426958, .08466494, .17049425, 0}}},
		{"ppo on policy", Loss{PPO, .2, .2}, onPolicy, 1, -(4 - 3*.8) / 7,
			[2][4]float64{{-1. / 7, -1. / 7, -1. / 7, -1. / 7}, {.8 / 7, .8 / 7, .8 / 7, 0}}},
	} {
		s, grads := sumRows(c.loss, c.rows)
		near(t, c.name, s.Loss/float64(s.Tokens)*c.scale, c.value, 5e-9)
		for r, row := range c.grads {
			for i, want := range row {
				near(t, c.name+" gradient", grads[r][i]*c.scale, want, 1e-8)
			}
		}
	}
}

// Mean over rows of each row's token mean is not what Loss computes, but its values follow from Sum row by row.
func TestLossSequenceMean(t *testing.T) {
	first := Row{New: []float64{-1, -.5, -2, -.7}, Old: []float64{-1.2, -.5, -1.6, -.9}, Advantages: repeat(1, 4), Mask: all(4)}
	second := Row{New: []float64{-.3, -1.2, -.9}, Old: []float64{-.6, -.9, -1.3}, Advantages: repeat(-.8, 3), Mask: all(3)}
	for high, want := range map[float64]float64{.2: -.023232205, .28: -.028582895} {
		a, _ := sumRows(Loss{PPO, .2, high}, []Row{first})
		b, _ := sumRows(Loss{PPO, .2, high}, []Row{second})
		near(t, "seq mean", (a.Loss/4+b.Loss/3)/2, want, 5e-9)
	}
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

// What is masked is not looked at: NaN and infinities there change nothing.
func TestLossMasked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, l := range []Loss{{PPO, .2, .2}, {CISPO, 0, 4}} {
		grad := []float64{9, 9, 9}
		s := l.Sum(Row{New: []float64{nan, -1, -inf}, Old: []float64{nan, -1, inf}, Advantages: []float64{inf, 1, nan}, Mask: []bool{false, true, false}}, grad)
		if s.Tokens != 1 || s.KL != 0 || grad[0] != 0 || grad[1] != -1 || grad[2] != 0 {
			t.Errorf("%s: %+v, gradient %v", l.Kind, s, grad)
		}
		if s := l.Sum(Row{New: []float64{nan}, Old: []float64{nan}, Advantages: []float64{nan}, Mask: []bool{false}}, grad[:1]); s != (Stats{}) {
			t.Errorf("%s: a masked row gives %+v", l.Kind, s)
		}
	}
}

// Where neither side clips, both losses have the policy gradient's derivative -r*A, and PPO's loss is its own
// tangent; the derivative agrees with finite differences everywhere off the corners.
func TestLossDerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Loss{PPO, rapid.Float64Range(0, 1).Draw(t, "low"), rapid.Float64Range(0, 2).Draw(t, "high")}
		p, q := rapid.Float64Range(-5, 0).Draw(t, "new"), rapid.Float64Range(-5, 0).Draw(t, "old")
		a := rapid.Float64Range(-3, 3).Draw(t, "advantage")
		at := func(p float64) (float64, float64) {
			grad := make([]float64, 1)
			s := l.Sum(Row{New: []float64{p}, Old: []float64{q}, Advantages: []float64{a}, Mask: all(1)}, grad)
			if s.KL < -1e-15 {
				t.Fatalf("KL %v", s.KL)
			}
			return s.Loss, grad[0]
		}
		const h = 1e-6
		r := math.Exp(p - q)
		if math.Abs(r-1+l.ClipLow) < 1e-4 || math.Abs(r-1-l.ClipHigh) < 1e-4 {
			return
		}
		up, _ := at(p + h)
		down, _ := at(p - h)
		_, grad := at(p)
		if want := (up - down) / (2 * h); math.Abs(grad-want) > 1e-6*(1+r) {
			t.Fatalf("derivative %v, by difference %v", grad, want)
		}
		capped := Loss{CISPO, 0, l.ClipHigh}
		g := make([]float64, 1)
		capped.Sum(Row{New: []float64{p}, Old: []float64{q}, Advantages: []float64{a}, Mask: all(1)}, g)
		if want := -min(r, 1+l.ClipHigh) * a; math.Abs(g[0]-want) > 1e-12*r {
			t.Fatalf("cispo derivative %v, want %v", g[0], want)
		}
	})
}

func TestLossCheck(t *testing.T) {
	for _, bad := range []Loss{{}, {"gspo", .2, .2}, {PPO, -.1, .2}, {PPO, 1.1, .2}, {PPO, .2, -1}, {PPO, math.NaN(), .2}, {PPO, .2, math.NaN()}} {
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	for _, good := range []Loss{{PPO, 0, 0}, {PPO, 1, 5}, {CISPO, 0, 4}} {
		if err := good.Check(); err != nil {
			t.Error(err)
		}
	}
}
