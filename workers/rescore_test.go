package workers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// again scores groups of finished runs again, as a command does: with no worker.
type again struct {
	*line
	acts  *activities.Activities
	stage activities.Stage
	cfg   rl.Config
}

func (l *line) again(t *testing.T, cfg rl.Config) again {
	t.Helper()
	ref, cfg, err := l.store.Config(t.Context(), cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	return again{l, &activities.Activities{OpenStore: l.openStore}, activities.Stage{Run: cfg.Name, Store: l.uri, Config: ref}, cfg}
}

// all compares all updates of the run.
func (a again) all(t *testing.T, by rl.RewardConfig) (all activities.Agreement) {
	t.Helper()
	for n := range rl.UpdateNumber(a.cfg.Updates) {
		a.stage.Update = n + 1
		groups, err := a.acts.Rescore(t.Context(), a.stage, by, activities.Telling{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := activities.Agree(a.stage, a.cfg, by, groups)
		if err != nil {
			t.Fatal(err)
		}
		all.Add(found)
	}
	return all
}

// contents are the hashes of all that a run has stored, what its judge has cost apart.
func (l *line) contents(t *testing.T, run rl.RunID) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range l.keys(t, store.RunPrefix(run)) {
		if key == store.SpendKey(run) {
			continue
		}
		body, err := l.store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		all[key] = store.SHA256(body)
	}
	return all
}

// A finished run is scored again: by its own judge for nothing and alike, by one that thinks the opposite with every advantage
// turned round, each answer paid once though the command is interrupted. What was recorded stays, and verify finds no fault.
func TestRescore(t *testing.T) {
	o, cfg := judged(t, faults.Of())
	l := open(t, t.TempDir(), 2)
	l.run(t, cfg)
	l.work.Stop()
	before, a := l.contents(t, cfg.Name), l.again(t, cfg)
	_, paid := o.calls()

	same := a.all(t, cfg.Reward)
	if _, now := o.calls(); now != paid || same.Groups != 16 || same.Compared == 0 || same.TauB == nil || *same.TauB != 1 || len(same.SignChanges) > 0 || same.Silenced+same.Awakened > 0 {
		t.Fatalf("by its own judge: %+v, %d answers were paid, then %d", same, paid, now)
	}

	opposite := cfg.Reward
	opposite.Rubric = "the worse the better"
	o.mu.Lock()
	o.contrary = true
	o.mu.Unlock()
	for cuts := range 3 { // interrupted as soon as something is paid
		o.gives(paid + 3*(cuts+1))
		ctx, cut := context.WithCancel(t.Context())
		go func() {
			o.thinks()
			cut()
		}()
		a.stage.Update = 1
		if _, err := a.acts.Rescore(ctx, a.stage, opposite, activities.Telling{}); err == nil {
			t.Fatal("it was not interrupted")
		}
	}
	o.gives(0)
	other := a.all(t, opposite)
	trained := 0
	for _, ledger := range l.ledgers(t, cfg) {
		trained += ledger.Trained
	}
	if other.Groups != same.Groups || other.Compared != same.Compared || other.TauB == nil || *other.TauB != -1 ||
		len(other.SignChanges) == 0 || len(other.SignChanges) > trained || other.Silenced+other.Awakened > 0 {
		t.Errorf("by the opposite: %+v of %d trained on", other, trained)
	}
	for _, s := range other.SignChanges {
		if d := s.Was + s.Is; d > 1e-3 || d < -1e-3 || !strings.HasPrefix(s.Episode, "small/") {
			t.Errorf("%+v is no mirror image", s)
		}
	}
	asked, once := o.calls()
	if once != 2*paid || other.Spent.Calls != paid {
		t.Errorf("paid %d answers of the opposite, %d of the run's judge; its scores took %d", once-paid, paid, other.Spent.Calls)
	}
	if repeated := a.all(t, opposite); repeated.Spent != other.Spent {
		t.Errorf("again: %+v", repeated.Spent)
	}
	if now, _ := o.calls(); now != asked {
		t.Errorf("asked again %d times", now-asked)
	}
	after, beside := l.contents(t, cfg.Name), 0
	for key, sum := range after {
		if was, old := before[key]; old && was != sum {
			t.Errorf("%s has changed", key)
		}
		if strings.Contains(key, "/rescored/") {
			beside++
		}
	}
	for key := range before {
		if after[key] == "" {
			t.Errorf("%s is gone", key)
		}
	}
	if beside != 2*same.Groups {
		t.Errorf("%d groups of scores beside the recorded ones, want %d", beside, 2*same.Groups)
	}
	if report, err := l.store.Verify(t.Context(), cfg.Name); err != nil || len(report.Faults) > 0 {
		t.Fatalf("verify: %v %+v", err, report.Faults)
	}
}

// A run that the environment scored is scored by a judge that is busy at first: Retry-After is waited for, and the run's limit holds.
func TestRescoreByAJudge(t *testing.T) {
	o, cfg := judged(t, faults.Of(faults.On("POST", "", faults.First(2), faults.Status(429, "Retry-After: 1"))))
	judge := cfg.Reward
	cfg.Updates, cfg.Reward = 1, rl.RewardConfig{Use: "exact", DeadBand: 1}
	l := open(t, t.TempDir(), 2)
	l.run(t, cfg)
	a := l.again(t, cfg)
	a.stage.Update = 1
	judge.MaxUSD = .02
	if _, err := a.acts.Rescore(t.Context(), a.stage, judge, activities.Telling{}); rl.KindOf(err) != rl.Exhausted {
		t.Fatalf("%v, want the limit", err)
	}
	_, paid := o.calls()
	if paid == 0 || float64(paid)*.002 > judge.MaxUSD {
		t.Fatalf("%d answers at .002 USD, the limit is %v", paid, judge.MaxUSD)
	}
	limited := activities.RewardName(judge)
	judge.MaxUSD = 0
	if activities.RewardName(judge) != limited {
		t.Error("another limit is another reward")
	}
	found := a.all(t, judge)
	if _, paid := o.calls(); found.Groups != 8 || found.Spent.Calls != paid || found.Members != 64-found.Unscored.Was-found.Unscored.Is {
		t.Errorf("%+v, %d answers paid", found, paid)
	}
	_, kept, err := store.FindJSON[rl.RewardConfig](t.Context(), l.store, store.RewardKey(cfg.Name, limited))
	if err != nil || kept.Model != judge.Model || kept.Rubric != judge.Rubric {
		t.Errorf("%+v %v", kept, err)
	}
	a.stage.Update = 2
	if _, err := a.acts.Rescore(t.Context(), a.stage, judge, activities.Telling{}); rl.KindOf(err) != rl.NotFound {
		t.Errorf("an update that is not there: %v", err)
	}
}

// A judge whose opinion follows from the text agrees with itself in every order and prefers no place; what it was asked by the run
// is not asked again, and a second check costs nothing.
func TestCheckJudge(t *testing.T) {
	o, cfg := judged(t, faults.Of())
	cfg.Updates = 1
	l := open(t, t.TempDir(), 2)
	l.run(t, cfg)
	a := l.again(t, cfg)
	_, paid := o.calls()
	groups, err := a.acts.CheckGroups(t.Context(), a.stage, []rl.UpdateNumber{1, 2}, 6)
	if err != nil || len(groups) != 6 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	c, err := a.acts.CheckJudge(t.Context(), a.stage, cfg.Reward, groups, activities.Telling{})
	if err != nil {
		t.Fatal(err)
	}
	_, now := o.calls()
	if c.Groups != 6 || c.Members != 48 || c.Unscored != 0 || c.SelfTauB == nil || *c.SelfTauB != 1 || *c.SelfStd > 1e-9 || c.Ties == nil || *c.Ties > .5 ||
		c.EarlyBias == nil || *c.EarlyBias > 1e-6 || *c.EarlyBias < -1e-6 || c.EarlyBiasError == nil || now-paid > 12 || c.Spent.Calls < 2*(now-paid) {
		t.Errorf("%+v, %d answers paid for it", c, now-paid)
	}
	strange := []activities.GroupAt{{Update: 1, Task: "train-none"}}
	if _, err := a.acts.CheckJudge(t.Context(), a.stage, cfg.Reward, strange, activities.Telling{}); rl.KindOf(err) != rl.NotFound {
		t.Errorf("a task that the update does not have: %v", err)
	}
	twice, err := a.acts.CheckJudge(t.Context(), a.stage, cfg.Reward, groups, activities.Telling{})
	if _, then := o.calls(); err != nil || then != now || twice.Spent != c.Spent {
		t.Errorf("again: %+v %v, %d answers paid", twice, err, then-now)
	}
}
