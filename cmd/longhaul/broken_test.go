package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/infra/simjudge"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// broken is a run with every fault at once: tools that are out and tools that never return, policy servers that hang and
// die, a judge that is busy, babbles and fails, a store that fails and loses its answers, and processes that are killed.
type broken struct {
	*served
	outside []string // the environment of commands that read what it leaves
	flaky   string   // the file whose being there breaks tools
	judge   *simjudge.Judge
	judging *faults.Plan
	storing *faults.Plan
	parts   []*process // two workers, and the servers that they work on
	why     string     // episodes failed, as far as they have been looked at
}

func newBroken(t *testing.T) *broken {
	both, p := startServers(t)
	b := &broken{outside: outside(p), flaky: filepath.Join(t.TempDir(), "flaky")}
	c, err := client.NewLazyClient(client.Options{HostPort: p.Temporal, Namespace: dev.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	open := func(ctx context.Context, uri string) (*store.Store, error) {
		return store.Open(ctx, uri, store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey})
	}
	b.served = &served{T: t, client: c}
	if b.store, err = open(t.Context(), "s3://"+dev.Bucket); err != nil {
		t.Fatal(err)
	}
	b.serve(open, [3]string{})
	if b.judge, err = simjudge.New(t.Context(), simjudge.Options{World: "orders", Tasks: rl.TaskRange{Last: 9999}, Noise: .15}); err != nil {
		t.Fatal(err)
	}
	b.judging = faults.Of(
		faults.On("POST", "", faults.First(3), faults.Status(http.StatusTooManyRequests, "Retry-After", "1")),
		faults.On("POST", "", faults.Share(.1, 1), faults.Status(http.StatusInternalServerError)),
		faults.On("POST", "", faults.Share(.1, 2), faults.Answer(http.StatusOK, `{"choices":[{"message":{"role":"assi`)),
		faults.On("POST", "", faults.Share(.2, 3), faults.Answer(http.StatusOK, `{"choices":[{"message":{"role":"assistant","content":"they are all very good"},"finish_reason":"stop"}]}`)))
	b.storing = faults.Of(faults.On("PUT", "", faults.Share(.05, 4), faults.Lost), faults.On("", "", faults.Share(.3, 5), faults.Status(http.StatusInternalServerError)))
	to, err := url.Parse(p.S3)
	if err != nil {
		t.Fatal(err)
	}
	faulty := httptest.NewServer(b.storing.Handler(&httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, // which is signed
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}))
	t.Cleanup(faulty.Close)
	for _, name := range []string{"worker 1", "worker 2"} {
		w := &process{name: name, start: func() *exec.Cmd {
			cmd := command("worker")
			cmd.Env = append(append(cmd.Env, b.outside...), "AWS_ENDPOINT_URL_S3="+faulty.URL, "FLAKY="+b.flaky)
			return cmd
		}}
		w.run(t)
		t.Cleanup(w.kill)
		b.parts = append(b.parts, w)
	}
	b.parts = append(b.parts, both)
	return b
}

// disturb breaks what there is to break, one thing after the other and several at once.
func (b *broken) disturb() {
	b.awaits(store.TasksKey("run", 1))
	b.servers[0].hangs.Store(true)
	b.servers[1].server.Close()
	b.restart(0)
	b.servers[2].hangs.Store(true)
	b.restart(2)
	time.Sleep(3 * time.Second)
	b.servers[0].hangs.Store(false)
	b.servers[1].start(b.T)
	b.servers[2].hangs.Store(false)
	b.awaits(store.TasksKey("run", 2))
	b.restart(1)
	b.awaits(store.LedgerKey("run", 3))
	if err := os.Remove(b.flaky); err != nil { // the last update has other faults alone
		b.Fatal(err)
	}
}

func (b *broken) restart(part int) {
	b.parts[part].kill()
	time.Sleep(500 * time.Millisecond)
	b.parts[part].run(b.T)
}

// awaits waits until the run has come to where an object is written.
func (b *broken) awaits(key string) {
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := b.store.Head(b.Context(), key); err == nil {
			return
		} else if time.Now().After(end) {
			status := command("status", "run")
			status.Env = append(status.Env, b.outside...)
			said, _ := status.CombinedOutput()
			for _, part := range b.parts {
				said = append(said, part.name+"\n"+part.errs.String()...)
			}
			b.Fatalf("waiting for %s: %v\n%s", key, err, said)
		}
	}
}

// command runs the command on what the run left.
func (b *broken) command(args ...string) []byte {
	cmd := command(args...)
	cmd.Env = append(cmd.Env, b.outside...)
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// Whatever happened to a run, its ledger has every slot once, with what became of it: trained on, or left out for a reason
// that its records bear out; and all that is counted is what the records come to.
func TestTheLedgerOfARunWithEveryFault(t *testing.T) {
	b := newBroken(t)
	if err := b.launch("base", "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.flaky, []byte("and some hang"), 0o600); err != nil {
		t.Fatal(err)
	}
	judge := httptest.NewServer(b.judging.Handler(b.judge))
	t.Cleanup(judge.Close)
	run := b.launch("run", "base@000000", func(c *rl.Config) {
		c.Env.Use, c.Eval.Every, c.Group.Valid, c.Group.Resample = "flaky", 0, .4, 5
		c.Reward = rl.RewardConfig{
			Use: "judge", URL: judge.URL + "/v1", Model: "simulated-judge", Passes: 2, Order: "shuffled", Ties: "allowed", DeadBand: 1, PerTurn: "off",
			ResultChars: 4000, Context: 100_000, ReplyTokens: 500, Timeout: rl.Duration(20 * time.Second), Concurrency: 8, USDIn: 1, USDOut: 10,
		}
	})
	b.disturb()
	var out workflows.TrainOut
	if err := run.Get(t.Context(), &out); err != nil || out.State != workflows.Done {
		t.Fatalf("%+v %v", out, err)
	}
	all := map[rl.LeftOut]int{}
	for line := range strings.Lines(string(b.command("ledger", "run", "--json"))) {
		var l ledgerEntry
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		b.accounts(l.Update)
		for why, n := range l.LeftOut {
			all[why] += n
		}
	}
	t.Logf("%s\nthe judge was asked %d times, %v faults before it, %v before the store; left out in all: %v", b.command("ledger", "run"), b.judge.Stats().Asked, b.judging.Hits(), b.storing.Hits(), all)
	if all[rl.EnvFailed] == 0 || all[rl.PolicyFailed]+all[rl.StoreFailed]+all[rl.JudgeFailed]+all[rl.Voided]+all[rl.NoLogProbs]+all[rl.Stale] != 0 {
		t.Errorf("left out: %v", all)
	}
	for _, why := range []string{"the warehouse does not answer", "gave no result within 2s"} {
		if !strings.Contains(b.why, why) {
			t.Errorf("no episode failed because %s", why)
		}
	}
	for _, hits := range [][]int{b.judging.Hits(), b.storing.Hits()} {
		for rule, n := range hits {
			if n == 0 {
				t.Errorf("fault %d did not strike: %v", rule, hits)
			}
		}
	}
	b.paid()
	b.command("verify", "run")
}

// accounts holds an update's ledger, as the command shows it, against the records.
func (b *broken) accounts(n rl.UpdateNumber) {
	b.Helper()
	var l ledgerEntry
	if err := json.Unmarshal(b.command("ledger", "run", "--update", fmt.Sprint(n), "--json"), &l); err != nil {
		b.Fatal(err)
	}
	tasks, err := b.store.Tasks(b.Context(), "run", n)
	if err != nil {
		b.Fatal(err)
	}
	asked := map[rl.Member]bool{}
	for _, task := range tasks {
		for m := range 8 {
			asked[rl.Member{Task: task.ID, Member: m}] = true
		}
	}
	if l.Asked != len(asked) || len(l.Slots) != len(asked) || !l.Balanced {
		b.Errorf("update %d: %d asked for, %d on the ledger with %d slots, balanced %v", n, len(asked), l.Asked, len(l.Slots), l.Balanced)
	}
	trained, rows, tokens, left := 0, 0, 0, map[rl.LeftOut]int{}
	for _, slot := range l.Slots {
		id := rl.Member{Task: slot.Task, Member: slot.Member}
		if !asked[id] {
			b.Errorf("update %d: %v is on the ledger twice, or was not asked for", n, id)
		}
		delete(asked, id)
		rows, tokens = rows+slot.Samples, tokens+slot.Tokens
		if slot.LeftOut == "" {
			trained++
		} else {
			left[slot.LeftOut]++
		}
		b.bearsOut(rl.EpisodeID{Run: "run", Update: n, Task: slot.Task, Member: slot.Member}, slot)
	}
	body, err := b.store.Get(b.Context(), store.BatchKey("run", n))
	if err != nil {
		b.Fatal(err)
	}
	batch, err := store.DecodeBatch(body)
	if err != nil {
		b.Fatal(err)
	}
	if trained != l.Trained || !maps.Equal(left, l.LeftOut) || tokens != l.Tokens || rows != len(batch.Samples) {
		b.Errorf("update %d: %d trained, left out %v, %d tokens, %d rows of %d; on the ledger %+v", n, trained, left, tokens, rows, len(batch.Samples), l)
	}
}

// bearsOut holds a slot against the episode's records: a failure is recorded as one and has no score, all else has a
// trajectory of so many tokens.
func (b *broken) bearsOut(id rl.EpisodeID, slot rl.Slot) {
	b.Helper()
	key := store.TrajectoryKey(id)
	_, failure, err := store.FindJSON[rl.Failure](b.Context(), b.store, store.FailureKey(key))
	failed := err == nil
	b.why += failure.Why
	if err != nil && rl.KindOf(err) != rl.NotFound {
		b.Fatal(err)
	}
	t, err := b.store.Trajectory(b.Context(), key)
	switch {
	case failed && (slot.LeftOut != failure.LeftOut || slot.Why != string(failure.LeftOut)+": "+failure.Why || slot.Score != 0 || slot.Tokens != 0 || slot.Samples != 0 || rl.KindOf(err) != rl.NotFound):
		b.Errorf("%v failed (%+v), the ledger says %+v, its trajectory: %v", id, failure, slot, err)
	case !failed && (err != nil || slot.Tokens != t.ActionTokens() || slot.LeftOut == rl.EnvFailed):
		b.Errorf("%v: %v, the ledger says %+v", id, err, slot)
	}
}

// paid holds what the judge was paid for against what is on record of it.
func (b *broken) paid() {
	b.Helper()
	kept := 0
	for o, err := range b.store.List(b.Context(), store.RunPrefix("run")) {
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(o.Key, "/judge/") {
			kept++
		}
	}
	_, spend, err := store.FindJSON[rl.Spend](b.Context(), b.store, store.SpendKey("run"))
	if stats := b.judge.Stats(); err != nil || stats.Paid > kept || len(spend.Open) > 0 {
		b.Errorf("the judge was paid %d times, %d answers are on record, %+v, %v", stats.Paid, kept, spend, err)
	}
}
