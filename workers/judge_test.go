package workers_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// opinion is a judge whose score of an attempt follows from the attempt's text alone. Like a proxy that keeps answers by key, it is
// paid once for a key.
type opinion struct {
	mu       sync.Mutex
	enough   int            // so many answers are given and no more, unless it is 0
	thinking int            // questions that wait for an answer since enough are given
	contrary bool           // it thinks the opposite
	asked    map[string]int // by key
	paid     map[string]int // answers that were delivered
}

var attemptPattern = regexp.MustCompile(`(?s)\[(\S+) [0-9a-f]{11} begins\]\n(.*?)\[\S+ [0-9a-f]{11} ends\]`)

func (o *opinion) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) < 2 {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	if q.Model != "m" {
		http.Error(w, `{"error":{"message":"no such model","code":"model_not_found"}}`, http.StatusNotFound)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	o.mu.Lock()
	o.asked[key]++
	contrary, thinks := o.contrary, o.enough > 0 && len(o.paid) >= o.enough && o.paid[key] == 0
	if thinks {
		o.thinking++
	} else {
		o.paid[key] = 1 // an answer that is asked for again is given again
	}
	o.mu.Unlock()
	if thinks {
		<-r.Context().Done() // nobody waits for the answer, nobody pays for it
		o.mu.Lock()
		o.thinking--
		o.mu.Unlock()
		return
	}
	var entries []string
	for _, m := range attemptPattern.FindAllStringSubmatch(q.Messages[1].Content, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		score := float64(binary.BigEndian.Uint16(sum[:])) / 65535
		if contrary {
			score = 1 - score
		}
		entries = append(entries, fmt.Sprintf(`{"id":%q,"reason":"by its text","score":%.9f}`, m[1], score))
	}
	text, _ := json.Marshal(`{"scores":[` + strings.Join(entries, ",") + `]}`)
	fmt.Fprintf(w, `{"model":"m","choices":[{"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`, text)
}

// gives lets so many answers be given, once nobody waits for one any more.
func (o *opinion) gives(enough int) {
	o.awaits(func(thinking int) bool { return thinking == 0 })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.enough = enough
}

// thinks waits until a question is put that is not answered.
func (o *opinion) thinks() { o.awaits(func(thinking int) bool { return thinking > 0 }) }

func (o *opinion) awaits(is func(thinking int) bool) {
	for {
		o.mu.Lock()
		now := o.thinking
		o.mu.Unlock()
		if is(now) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (o *opinion) calls() (asked, paid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.asked {
		asked += n
	}
	for _, n := range o.paid {
		paid += n
	}
	return asked, paid
}

// judged is a small run whose reward is an opinion.
func judged(t *testing.T, plan *faults.Plan) (*opinion, rl.Config) {
	t.Helper()
	o := &opinion{asked: map[string]int{}, paid: map[string]int{}}
	server := httptest.NewServer(plan.Handler(o))
	t.Cleanup(server.Close)
	cfg := small(t)
	cfg.Updates, cfg.Eval.Every = 2, 0
	cfg.Reward = rl.RewardConfig{
		Use: "judge", URL: server.URL + "/v1", Model: "m", Passes: 2, Order: "shuffled", Ties: "allowed", DeadBand: 1, PerTurn: "off",
		ResultChars: 4000, Context: 100_000, ReplyTokens: 500, Timeout: rl.Duration(20 * time.Second), Concurrency: 8, USDIn: 1, USDOut: 10,
	}
	return o, cfg
}

// ledgers are those of a run's updates.
func (l *line) ledgers(t *testing.T, cfg rl.Config) (all []rl.Ledger) {
	t.Helper()
	for n := range rl.UpdateNumber(cfg.Updates) {
		_, ledger, err := store.FindJSON[rl.Ledger](t.Context(), l.store, store.LedgerKey(cfg.Name, n+1))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ledger)
	}
	return all
}

// A judge that answers 429 with Retry-After is waited for; each question is answered and paid for once, and is on the ledger.
func TestJudgedRunPaysOnce(t *testing.T) {
	began := time.Now()
	busy := faults.Of(faults.On("POST", "", faults.First(3), faults.Status(429, "Retry-After: 1")))
	o, cfg := judged(t, busy)
	l := open(t, t.TempDir(), 2)
	l.run(t, cfg)
	asked, paid := o.calls()
	var judge rl.Spent
	for _, ledger := range l.ledgers(t, cfg) {
		judge.Add(ledger.Judge)
		if !ledger.Balanced || ledger.USD != ledger.Judge.USD || ledger.LeftOut[rl.Unscored] > 0 {
			t.Errorf("%+v", ledger)
		}
	}
	_, spend, err := store.FindJSON[rl.Spend](t.Context(), l.store, store.SpendKey(cfg.Name))
	if err != nil {
		t.Fatal(err)
	}
	price := float64(paid) * (1000*1 + 100*10) / 1e6
	if asked != paid || paid == 0 || paid > 2*2*8 || judge.Calls != paid || judge.PromptTokens != 1000*paid || spend.Calls != paid || len(spend.Open) > 0 || spend.Uncertain > 0 {
		t.Errorf("asked %d, paid %d; ledgers %+v, spend %+v", asked, paid, judge, spend)
	}
	if diff := judge.USD - price; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("%v USD on the ledgers, %v paid", judge.USD, price)
	}
	if wall := time.Since(began); wall < time.Second {
		t.Errorf("Retry-After was not waited for: %v", wall)
	}
	report, err := l.store.Verify(t.Context(), cfg.Name)
	if err != nil || len(report.Faults) > 0 {
		t.Fatalf("verify: %v %+v", err, report.Faults)
	}
}

// The parts are stopped while the judge thinks, and started again: it is paid once for each question, and the run ends with the
// checkpoint of one that was left alone.
func TestStoppedWhileTheJudgeThinks(t *testing.T) {
	o, cfg := judged(t, faults.Of())
	want := open(t, t.TempDir(), 2).run(t, cfg)
	_, alone := o.calls()

	o.mu.Lock()
	o.asked, o.paid = map[string]int{}, map[string]int{}
	o.mu.Unlock()
	o.gives(3)
	dir := t.TempDir()
	l := open(t, dir, 2)
	if _, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg); err != nil {
		t.Fatal(err)
	}
	for _, enough := range []int{6, 0} {
		o.thinks()
		l.close()
		o.gives(enough)
		l = start(t, dir)
		l.dev.FailOrphans(t.Context(), l.client, workflows.TrainID(cfg.Name))
		l.workOn(t, 2)
	}
	if got := l.run(t, cfg); got != want {
		t.Fatalf("ended with %+v, want %+v", got, want)
	}
	asked, paid := o.calls()
	if paid != alone || asked > paid+2*cfg.Reward.Concurrency { // at each stop no more is under way than that
		t.Errorf("asked %d times and paid %d times, %d times when left alone", asked, paid, alone)
	}
	t.Logf("asked %d times, paid %d times", asked, paid)
}

// A budget pauses the run before the call that would pass it. It says why, stays paused when it is only resumed, and goes on when
// the budget is raised.
func TestBudgetPausesTheRun(t *testing.T) {
	o, cfg := judged(t, faults.Of())
	cfg.Reward.MaxUSD = .05
	l := open(t, t.TempDir(), 2)
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	spent := func() float64 { _, paid := o.calls(); return float64(paid) * .002 }
	waits := l.awaitPause(t, cfg.Name)
	if !strings.Contains(waits.Why, "the limit is 0.05") || spent() == 0 || spent() > .05 {
		t.Fatalf("%+v after %v USD", waits, spent())
	}
	l.steer(t, cfg.Name, workflows.Resume, "hope")
	l.awaitPause(t, cfg.Name)

	from, now, err := l.store.Config(t.Context(), cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	now.Reward.MaxUSD = 50
	by := workflows.Command{By: "tester", Why: "it is worth it"}
	for range 2 { // the same change twice is one
		if at, err := workers.Set(t.Context(), l.client, l.store, now, from, by, "reward.max_usd: 0.05 -> 50"); err != nil || at.State != workflows.Paused {
			t.Fatalf("%+v %v", at, err)
		}
	}
	other := now
	other.Reward.MaxUSD = 60
	if _, err := workers.Set(t.Context(), l.client, l.store, other, from, by, "reward.max_usd: 0.05 -> 60"); rl.KindOf(err) != rl.Conflict {
		t.Errorf("a change of what is no longer so: %v", err)
	}
	l.steer(t, cfg.Name, workflows.Resume, "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out workflows.TrainOut
	if err := run.Get(ctx, &out); err != nil || out.State != workflows.Done {
		t.Fatalf("%+v %v", out, err)
	}
	changes, err := l.store.Changes(t.Context(), cfg.Name)
	if err != nil || len(changes) != 1 || changes[0].Why != by.Why {
		t.Errorf("%+v %v", changes, err)
	}
	if again := l.run(t, cfg); again.Checkpoint != out.Checkpoint { // with the file that it was started with
		t.Errorf("%+v, want %+v", again, out)
	}
	if again := l.run(t, now); again.Checkpoint != out.Checkpoint { // and with one that has the change
		t.Errorf("%+v, want %+v", again, out)
	}
}

// A judge that refuses pauses the run with its own words; with its settings mended the run goes on, and nothing was lost.
func TestARefusingJudgePausesTheRun(t *testing.T) {
	o, cfg := judged(t, faults.Of())
	l := open(t, t.TempDir(), 2)
	wrong := cfg
	wrong.Reward.Model = "mm"
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, wrong)
	if err != nil {
		t.Fatal(err)
	}
	if waits := l.awaitPause(t, cfg.Name); !strings.Contains(waits.Why, "no such model") {
		t.Fatalf("%+v", waits)
	}
	from, _, err := l.store.Config(t.Context(), cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workers.Set(t.Context(), l.client, l.store, cfg, from, workflows.Command{By: "tester", Why: "a slip"}, "reward.model: mm -> m"); err != nil {
		t.Fatal(err)
	}
	l.steer(t, cfg.Name, workflows.Resume, "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out workflows.TrainOut
	if err := run.Get(ctx, &out); err != nil || out.State != workflows.Done {
		t.Fatalf("%+v %v", out, err)
	}
	_, spend, err := store.FindJSON[rl.Spend](t.Context(), l.store, store.SpendKey(cfg.Name))
	if _, paid := o.calls(); err != nil || spend.Calls != paid || spend.Uncertain > 0 || len(spend.Open) > 0 {
		t.Errorf("%+v %v, paid %d", spend, err, paid)
	}
}

// awaitPause waits until a run is paused and returns what it waits for.
func (l *line) awaitPause(t *testing.T, run rl.RunID) (w workflows.WaitingFor) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); w.What == ""; time.Sleep(50 * time.Millisecond) {
		d, err := l.client.DescribeWorkflowExecution(t.Context(), workflows.TrainID(run), "")
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("it does not pause: %v", err)
		}
		if memo := d.WorkflowExecutionInfo.Memo.GetFields()[workflows.WaitingMemo]; memo != nil {
			if err := json.Unmarshal(memo.Data, &w); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}
