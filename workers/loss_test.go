package workers_test

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// A run whose loss compares with its own version 0 trains, says how far it has come from there, and ends with the same bytes
// on one thread and on two; one of another name compares with the first run's end.
func TestRunWithAReference(t *testing.T) {
	ends := map[string]bool{}
	for _, threads := range []int{1, 2} {
		l := open(t, t.TempDir(), threads)
		cfg := small(t)
		cfg.Updates, cfg.Eval.Every = 2, 0
		cfg.Loss = rl.LossConfig{Use: "gspo", ClipLow: .1, ClipHigh: .1, TauPositive: 1, TauNegative: 1, Reduction: "sequence_mean", MismatchCap: 2,
			OffPolicyMask: 1, KLCoef: .05, KL: "k3", KLIn: "loss", EntropyCoef: .001}
		l.run(t, cfg)
		next := cfg
		next.Name, next.From, next.Loss.Reference, next.Loss.KL, next.Loss.KLIn = "next", "small@0", "small@2", "k1", "reward"
		ends[l.run(t, next).Checkpoint.SHA256] = true
		for run, apart := range map[rl.RunID][]bool{cfg.Name: {false, true}, next.Name: {true, true}} {
			for n, want := range apart {
				_, s, err := store.FindJSON[rl.UpdateSummary](t.Context(), l.store, store.SummaryKey(run, rl.UpdateNumber(n+1)))
				kl, told := s.Metrics["reference_kl"]
				if err != nil || !told || want && kl <= 0 || kl > .5 {
					t.Errorf("%s/%d: %v, reference_kl %v", run, n+1, err, s.Metrics)
				}
			}
		}
		l.close()
	}
	if len(ends) != 1 {
		t.Errorf("it ended with %v", ends)
	}
}

// A run can learn from which of two members was better, in place of advantages.
func TestRunOnPreferences(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	cfg := small(t)
	cfg.Updates, cfg.Eval.Every = 2, 0
	cfg.Loss.Use, cfg.Loss.Beta = "dpo", .1
	l.run(t, cfg)
	for n := range rl.UpdateNumber(2) {
		_, s, err := store.FindJSON[rl.UpdateSummary](t.Context(), l.store, store.SummaryKey(cfg.Name, n+1))
		if err != nil || s.Metrics["pairs"] < 2 || s.Metrics["grad_norm"] <= 0 || s.Loss <= 0 || s.Loss > 2 {
			t.Errorf("update %d: %v, %v", n+1, s.Metrics, err)
		}
		if _, told := s.Metrics["ratio_max"]; told {
			t.Errorf("update %d tells of a ratio that it does not have: %v", n+1, s.Metrics)
		}
	}
}
