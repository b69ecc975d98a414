package activities

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
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

// tinkeredBench is a bench whose run is trained and served by a Tinker service. Requests are counted from each update on; the
// answers of those in lost are lost.
type tinkeredBench struct {
	*bench
	service *simtinker.Service
	mu      sync.Mutex
	lost    map[string]int // of a call, which one
	refused string         // a call
}

func (b *tinkeredBench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.lost[path.Base(r.URL.Path)]--
	lose, refused := b.lost[path.Base(r.URL.Path)] == 0, b.refused == path.Base(r.URL.Path)
	b.mu.Unlock()
	if refused || r.Header.Get("X-API-Key") != "key-of-the-service" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if lose {
		b.service.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	b.service.ServeHTTP(w, r)
}

// fails has a call refused and the answers of others lost from now on. Sessions beat meanwhile.
func (b *tinkeredBench) fails(refused string, lost map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused, b.lost = refused, lost
}

func openTinkered(t *testing.T) *tinkeredBench {
	t.Helper()
	b := &tinkeredBench{bench: open(t, "a"), service: simtinker.New(), lost: map[string]int{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.Getenv = func(name string) string { return map[string]string{"KEY": "key-of-the-service"}[name] }
	cfg, err := config.Parse("run.yaml", fmt.Appendf(nil, `name: %s
env: {use: orders}
policy: {use: tinker, url: %q, model: %s, base: ../tokenizer/testdata, api_key_env: KEY}
update: {use: tinker, tinker: {reduces: sum}, usd_hour: 3600, learning_rate: 0.5, ramp: 0, final_rate: 1, minibatches: 1, beta1: 0}
`, run, server.URL, simtinker.Base), config.Names{})
	if err != nil {
		t.Fatal(err)
	}
	b.configure(t, cfg)
	return b
}

// update makes an update and its checkpoint, and says where its weights are.
func (b *tinkeredBench) update(t *testing.T, in UpdatePolicyIn) (manifest rl.Ref, ckpt rl.Checkpoint, of tinker.Checkpoint) {
	t.Helper()
	in.Stage, in.Scale = b.in.Stage, 1
	in.Stage.Update = 0
	if in.Base != nil {
		in.Stage.Update = 1
	}
	out, err := b.stage(in)
	if err == nil {
		manifest, err = b.checkpoint(t.Context(), CheckpointIn{Stage: in.Stage, Result: out.Result, Base: in.Base})
	}
	if err == nil {
		ckpt, err = b.store.Checkpoint(t.Context(), manifest)
	}
	if err == nil {
		of, err = tinkerCheckpoint(t.Context(), b.store, ckpt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return manifest, ckpt, of
}

// attempts are those on record at update 1.
func (b *tinkeredBench) attempts(t *testing.T) []rl.JobAttempt {
	t.Helper()
	_, kept, ok, err := recorded[rl.JobRecord](t.Context(), b.store, store.JobRecordKey(run, 1))
	if err != nil || !ok {
		t.Fatal("the update has no job: ", err)
	}
	all, err := b.store.JobAttempts(t.Context(), kept.Key)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stage is UpdatePolicy as a worker runs it.
func (b *tinkeredBench) stage(in UpdatePolicyIn) (out UpdatePolicyOut, err error) {
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	environment.RegisterActivity(b.UpdatePolicy)
	value, err := environment.ExecuteActivity(b.UpdatePolicy, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// From nothing to a version that acts, with answers lost on the way. The service's policy is one weight, 1 at first, which
// falls by the learning rate times the gradient: less the mean advantage of a trained token.
func TestAPolicyIsTrainedAndServedByATinkerService(t *testing.T) {
	b := openTinkered(t)
	batch := aBatch(3, nil, t)
	mean := 0.0
	for _, s := range batch.Samples {
		for _, a := range s.Advantages {
			mean += float64(a) / float64(batch.TrainedTokens())
		}
	}
	body := store.EncodeBatch(batch)
	ref, err := b.store.Put(t.Context(), store.BatchKey(run, 1), body)
	if err != nil {
		t.Fatal(err)
	}
	b.fails("", map[string]int{"create_model": 1})
	base, _, _ := b.update(t, UpdatePolicyIn{})

	b.fails("forward_backward", map[string]int{})
	_, err = b.stage(UpdatePolicyIn{Stage: b.in.Stage, Base: &base, Batch: &ref, TrainedTokens: batch.TrainedTokens(), Scale: 1})
	if KindOf(err) != rl.Refused {
		t.Errorf("what the service refuses is %q: %v", KindOf(err), err)
	}
	if all := b.attempts(t); len(all) != 1 || all[0].State != "lost" || !strings.Contains(all[0].Why, "forward_backward") {
		t.Errorf("on record are %+v", all)
	}
	b.fails("", map[string]int{"optim_step": 2, "save_weights": 1})
	_, ckpt, of := b.update(t, UpdatePolicyIn{Base: &base, Batch: &ref, TrainedTokens: batch.TrainedTokens()})

	// Asked again it is done, and what it took is as before: two attempts, and some seconds at a dollar each.
	again, err := b.stage(UpdatePolicyIn{Stage: b.in.Stage, Base: &base, Batch: &ref, TrainedTokens: batch.TrainedTokens(), Scale: 1})
	all := b.attempts(t)
	if len(all) != 2 || all[1].State != "done" || !strings.HasPrefix(all[1].Identity, "service http://127.0.0.1:") {
		t.Errorf("on record are %+v", all)
	} else if u, ran := again.Job, all[0].RanSeconds+all[1].RanSeconds; err != nil || u == nil || u.Launcher != "tinker" || u.Attempts != 2 || u.RanSeconds != ran ||
		math.Abs(u.USD-ran) > 1e-9 || u.IdleSeconds <= 0 || u.IdleSeconds >= ran {
		t.Errorf("it took %+v, %v; its attempts %v s", u, err, ran)
	}
	done := b.in.Stage
	done.Update = 1
	if err := b.cancelJob(t.Context(), done); err != nil {
		t.Errorf("there is no process to cancel: %v", err)
	}

	if got, want := b.service.Saved(of.Weights).Weight, 1+.5*mean; math.Abs(got-want) > 1e-6 {
		t.Errorf("the weight is %v, want %v", got, want)
	}
	if m := ckpt.Metrics; m["grad_norm"] == 0 || m["mismatch_kl"] <= 0 || m["minibatches"] != 1 || m["tokens"] != float64(batch.TrainedTokens()) {
		t.Errorf("metrics %v", m)
	}
	if _, knows := ckpt.Metrics["entropy"]; knows {
		t.Error("the service gives no distribution, and there is an entropy")
	}
	var names []string
	for _, f := range ckpt.Files {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "adapter_config.json adapter_model.safetensors tinker.json tokenizer.json" {
		t.Errorf("files %s", got)
	}

	cfg, err := b.store.ConfigAt(t.Context(), b.in.Config)
	if err != nil {
		t.Fatal(err)
	}
	b.service.Kill()
	v := rl.VersionOf(run, 1)
	if err := b.ready(t.Context(), b.in.Stage, b.store, cfg, v); err != nil {
		t.Fatal(err)
	}
	client, _, err := b.playing(t.Context(), b.in.Stage, b.store, cfg, v)
	if err != nil {
		t.Fatal(err)
	}
	acted, err := client.Act(t.Context(), policy.Request{Model: string(v), Messages: []rl.Message{{Role: rl.User, Content: "where?"}}, Temperature: 1, MaxTokens: 4})
	if err != nil || len(acted.Tokens) != 2 || math.Abs(float64(acted.LogProbs[0])+1+.5*mean) > 1e-6 {
		t.Errorf("%+v, %v", acted, err)
	}
}
