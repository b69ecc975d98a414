package nn

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"testing"
)

// vectors is trainer/testdata/losses.json, which the trainer in PyTorch is held to as well. Its loss has the keys of
// `loss` in run.yaml.
type vectors struct {
	Batches map[string]map[string]table
	Cases   []struct {
		Name, Batch string
		Rows        map[string]table
		Loss        struct {
			Use           string
			ClipLow       float64 `json:"clip_low"`
			ClipHigh      float64 `json:"clip_high"`
			RatioCap      float64 `json:"ratio_cap"`
			TauPositive   float64 `json:"tau_positive"`
			TauNegative   float64 `json:"tau_negative"`
			OffPolicyMask float64 `json:"off_policy_mask"`
			KL            string
			KLCoef        float64 `json:"kl_coef"`
			Reduction     string
			Length        int
			Tokens        float64
		}
		Value     float64
		Gradients [][]float64
	}
	MismatchWeights []struct {
		Old, Sampler, Now, Weights []maybe
		Cap                        float64
	} `json:"mismatch_weights"`
	Estimates []struct {
		Estimator       string
		X, Value, Slope float64
	}
	Penalised []struct {
		Estimator, Batch string
		Coef             float64
		Advantages       [][]float64
	} `json:"penalised_advantages"`
	DPO []struct {
		Beta, Chosen, Rejected, Value float64
		ReferenceChosen               float64 `json:"reference_chosen"`
		ReferenceRejected             float64 `json:"reference_rejected"`
		Gradients                     [2]float64
	}
}

type table [][]maybe

// maybe is a number; null is none.
type maybe float64

func (m *maybe) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = maybe(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(m))
}

func numbers(from []maybe) (to []float64) {
	for _, v := range from {
		to = append(to, float64(v))
	}
	return to
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("../../trainer/testdata/losses.json")
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil || len(v.Cases) < 25 {
		t.Fatalf("%d vectors: %v", len(v.Cases), err)
	}
	return v
}

// rowsOf are the rows of a batch, some of its columns replaced.
func rowsOf(batch, others map[string]table) (rows []Row) {
	columns := maps.Clone(batch)
	maps.Copy(columns, others)
	for i := range columns["new"] {
		column := func(name string) []float64 {
			if columns[name] == nil {
				return nil
			}
			return numbers(columns[name][i])
		}
		r := Row{New: column("new"), Old: column("old"), Advantages: column("advantages"),
			Sampler: column("sampler"), Weights: column("weights"), Reference: column("reference")}
		for _, m := range columns["mask"][i] {
			r.Mask = append(r.Mask, m != 0)
		}
		rows = append(rows, r)
	}
	return rows
}

// reduced is the loss of a batch of rows, and its derivatives, as Trainer.Update puts them together.
func reduced(l Loss, rows []Row) (value float64, grads [][]float64, all Stats) {
	var batch size
	for _, r := range rows {
		if n := count(r.Mask); n > 0 {
			batch.rows++
			batch.tokens += n
		}
	}
	for _, r := range rows {
		g := make([]float64, len(r.New))
		s := l.Sum(r, g)
		all.Add(s)
		if s.Tokens > 0 {
			divisor := l.divisor(batch, s.Tokens)
			value += s.Loss / divisor
			for i := range g {
				g[i] /= divisor
			}
		}
		grads = append(grads, g)
	}
	return value, grads, all
}

func count(mask []bool) (n int) {
	for _, m := range mask {
		if m {
			n++
		}
	}
	return n
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s = %.10f, want %.10f", what, got, want)
	}
}

func TestLossVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Cases {
		l := Loss{Kind: c.Loss.Use, ClipLow: c.Loss.ClipLow, ClipHigh: c.Loss.ClipHigh, RatioCap: c.Loss.RatioCap,
			TauPositive: c.Loss.TauPositive, TauNegative: c.Loss.TauNegative, OffPolicyMask: c.Loss.OffPolicyMask,
			KL: c.Loss.KL, KLCoef: c.Loss.KLCoef, Reduction: c.Loss.Reduction, Length: c.Loss.Length, Tokens: c.Loss.Tokens}
		if err := l.Check(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		value, grads, _ := reduced(l, rowsOf(v.Batches[c.Batch], c.Rows))
		near(t, c.Name, value, c.Value, 5e-9)
		for r, row := range c.Gradients {
			for i, want := range row {
				near(t, fmt.Sprintf("%s: gradient %d, %d", c.Name, r, i), grads[r][i], want, 1e-8)
			}
		}
	}
}

func TestKLVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Estimates {
		value, slope := estimate(c.Estimator, c.X)
		near(t, c.Estimator, value, c.Value, 1e-9)
		near(t, c.Estimator+"'s slope", slope, c.Slope, 1e-9)
	}
	for _, c := range v.MismatchWeights {
		got := MismatchWeights(numbers(c.Old), numbers(c.Sampler), numbers(c.Now), c.Cap)
		for i, want := range numbers(c.Weights) {
			near(t, fmt.Sprint("weight ", i), got[i], want, 1e-9)
		}
	}
	for _, c := range v.Penalised {
		var batch []*Example
		for _, r := range rowsOf(v.Batches[c.Batch], nil) {
			batch = append(batch, &Example{Tokens: make([]int32, len(r.New)), LossMask: r.Mask, LogProbs: singles(r.Old),
				Reference: singles(r.Reference), Advantages: singles(r.Advantages)})
		}
		PenaliseAdvantages(batch, c.Estimator, c.Coef)
		for i, row := range c.Advantages {
			for j, want := range row {
				near(t, fmt.Sprint(c.Estimator, " advantage ", i, j), float64(batch[i].Advantages[j]), want, 2e-7)
			}
		}
	}
}

func singles(from []float64) (to []float32) {
	for _, v := range from {
		to = append(to, float32(v))
	}
	return to
}
