package workers_test

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Runs that go wrong in real ways say so, each thing once, in the summary of the update with which it began.
func TestRunsWarn(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*rl.Config)
		want   map[string]rl.UpdateNumber
	}{
		{"a learning rate that is far too high", func(c *rl.Config) {
			c.Updates, c.Update.LearningRate, c.Update.Ramp, c.Update.Minibatches = 2, .1, 0, 4
		}, map[string]rl.UpdateNumber{"tasks_too_hard": 1, "kl_stop": 1, "clipping": 1}},
		{"too few turns to answer", func(c *rl.Config) { c.Updates, c.Env.MaxTurns, c.WarmUp.Max = 4, 2, 0 },
			map[string]rl.UpdateNumber{"tasks_too_hard": 1, "truncations": 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t, t.TempDir(), 2)
			cfg := small(t)
			cfg.Eval.Every = 0
			c.change(&cfg)
			l.run(t, cfg)
			told := map[string]rl.UpdateNumber{}
			for n := rl.UpdateNumber(1); int(n) <= cfg.Updates; n++ {
				_, u, err := store.FindJSON[rl.UpdateSummary](t.Context(), l.store, store.SummaryKey(cfg.Name, n))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range u.Events {
					if _, again := told[e.Name]; again || e.Kind != rl.Warning || e.Update != n {
						t.Errorf("update %d tells %+v", n, e)
					}
					told[e.Name] = n
				}
				if s := u.Signals; s == nil || s.Turns < 1 || len(s.PassAt) != 4 {
					t.Errorf("update %d has the signals %+v", n, s)
				}
			}
			for name, n := range c.want {
				if told[name] != n {
					t.Errorf("%s is told at update %d, not %d; %v", name, told[name], n, told)
				}
			}
		})
	}
}

// A run with a curriculum puts off tasks that taught nothing, says so on its ledgers, and ends with the same checkpoint every
// time.
func TestRunWithCurriculum(t *testing.T) {
	cfg := small(t)
	cfg.Updates, cfg.Eval.Every = 4, 0
	cfg.Env.Tasks.Train = rl.TaskRange{First: 0, Last: 15}
	cfg.Curriculum = rl.CurriculumConfig{Floor: .25, Visits: 1}
	l := open(t, t.TempDir(), 2)
	first := l.run(t, cfg)
	putOff := 0
	for n := rl.UpdateNumber(1); n <= 4; n++ {
		_, ledger, err := store.FindJSON[rl.Ledger](t.Context(), l.store, store.LedgerKey(cfg.Name, n))
		if err != nil {
			t.Fatal(err)
		}
		for _, tasks := range ledger.PutOff {
			putOff += tasks
		}
	}
	if putOff == 0 {
		t.Error("no task was put off")
	}
	report, err := l.store.Verify(t.Context(), cfg.Name)
	if err != nil || len(report.Faults) > 0 {
		t.Errorf("verify: %v %+v", err, report.Faults)
	}
	l.close()
	if again := open(t, t.TempDir(), 1).run(t, cfg); again.Checkpoint != first.Checkpoint {
		t.Errorf("ended with %v and with %v", first.Checkpoint, again.Checkpoint)
	}
}
