package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

var update = flag.Bool("update", false, "write the golden files")

// aConfig draws a config that Check accepts: any value of each key, then made to agree.
func aConfig(t *rapid.T) rl.Config {
	c := recipe(rapid.SampledFrom(names.Envs).Draw(t, "env"))
	if rapid.Bool().Draw(t, "served") {
		c.Policy = rl.PolicyConfig{Use: "openai", URL: "http://" + rapid.StringMatching(`[a-z]{1,9}(:[0-9]{2,4})?(/([a-z0-9~:'-]|%4[0-9a-f]){0,9}){0,2}`).Draw(t, "host"), Model: "m", Base: "/models/m"}
		c.WarmUp.Max, c.Update.USDHour = 0, 1
		c.Update.Use = rapid.SampledFrom([]string{"kubernetes", "local", "sagemaker"}).Draw(t, "update.use")
		elsewhere(&c.Update)
		fitServed(&c.Policy, func(string) bool { return false })
		fitTorch(&c, func(string) bool { return false })
	}
	if rapid.Bool().Draw(t, "judged") {
		c.Reward.Use, c.Reward.URL, c.Reward.Model = "judge", "http://judge/v1", "m"
		c.Reward.Rubric, c.Reward.USDIn, c.Reward.MaxUSD, c.Reward.MaxCalls = "an answer\n that is \"right\"\n", 1, 1, 1
		fitJudge(&c.Reward, func(string) bool { return false })
	}
	if rapid.Bool().Draw(t, "overlong") {
		c.Reward.OverlongMax, c.Reward.OverlongBuffer = 2, 1
	}
	for _, f := range leaves {
		v := f.in(&c)
		switch r := f.rule; {
		case f.unset(c), r.names != nil && (f.path == "env.use" || f.path == "policy.use" || f.path == "policy.publish" || f.path == "update.use"):
		case f.path == "policy.model", f.path == "policy.base", f.path == "reward.model":
			v.SetString(rapid.StringMatching(`[^\x00-\x1f\x7f]{1,20}`).Draw(t, f.path))
		case f.path == "name":
			v.SetString(rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,20}`).Draw(t, f.path))
		case r.names != nil:
			v.SetString(rapid.SampledFrom(r.names(names)).Draw(t, f.path))
		case f.kind == number:
			v.SetFloat(rapid.Float64Range(r.min, r.max).Filter(r.holds).Draw(t, f.path))
		case f.kind == seed:
			v.SetUint(rapid.Uint64Range(0, exact).Draw(t, f.path))
		case f.kind == whole && r.multiple > 0:
			v.SetInt(int64(rapid.IntRange(1, int(r.max)/r.multiple).Draw(t, f.path) * r.multiple))
		case f.kind == whole:
			v.SetInt(rapid.Int64Range(int64(r.min), int64(r.max)).Draw(t, f.path))
		case f.kind == duration:
			v.SetInt(rapid.Int64Range(int64(r.min*float64(time.Second)), int64(r.max*float64(time.Second))).Draw(t, f.path))
		}
	}
	c.Group.PerActivity = min(c.Group.PerActivity, c.Group.Size)
	if c.Policy.Use != "tiny" {
		c.WarmUp.Max = 0
	}
	c.Group.PerUpdate = min(c.Group.PerUpdate, c.Env.Tasks.Train.Len())
	c.Update.Minibatches = min(c.Update.Minibatches, c.Group.Size*c.Group.PerUpdate)
	if gpus := c.Update.Kubernetes.GPUs; gpus > 0 {
		c.Update.Processes = min(c.Update.Processes, gpus)
	}
	c.Eval.Tasks = min(c.Eval.Tasks, c.Env.Tasks.Eval.Len())
	c.Env.TurnTimeout = min(c.Env.TurnTimeout, c.Env.EpisodeTimeout/2)
	agreeOnReward(&c.Reward)
	if c.Loss.Use == "dpo" {
		c.Loss.Beta, c.Loss.KLCoef, c.Loss.EntropyCoef, c.Loss.MismatchCap, c.Loss.OffPolicyMask = .1, 0, 0, 0, 0
	}
	if _, ok := contributions(c); !ok {
		c.Advantage.Use = "grpo"
	}
	if _, ok := rewardsOnce(c); !ok {
		c.Advantage.Use = "grpo"
	}
	c.Sampling.Temperature = max(c.Sampling.Temperature, 1e-9)
	if c.Policy.Context > 0 {
		c.Sampling.MaxTokens = min(c.Sampling.MaxTokens, c.Policy.Context-1)
	}
	makeLossAgree(&c)
	for _, ok := tinyWeights(c); !ok; _, ok = tinyWeights(c) {
		c.Policy.Layers, c.Policy.Hidden = max(1, c.Policy.Layers/2), max(32, c.Policy.Hidden/64*32)
	}
	if c.Policy.Model != "" && Check(c, names) != nil { // it looks like a key
		c.Policy.Model, c.Policy.Base = "model", "/model"
	}
	if c.Reward.Model != "" && Check(c, names) != nil {
		c.Reward.Model = "model"
	}
	if wrong := Check(c, names); wrong != nil {
		t.Fatal(wrong)
	}
	return c
}

// elsewhere gives a job of its own what it needs, and all that can be said of it.
func elsewhere(u *rl.UpdateConfig) {
	switch u.Use {
	case "kubernetes":
		u.Kubernetes = rl.KubernetesConfig{
			Image: "registry:5000/a/trainer@sha256:" + strings.Repeat("0a", 32), Namespace: "rl", Context: "prod", Queue: "gpus", GPUs: 1, CPUs: 0.5, Memory: "64Gi", NodeSelector: "pool=a100, example.com/zone=",
			Tolerations: "nvidia.com/gpu:NoSchedule,spot=true", ServiceAccount: "trainer", Secret: "store", Template: "spec:\n  template: {}\n",
		}
	case "sagemaker":
		u.SageMaker = rl.SageMakerConfig{
			Region: "us-gov-west-1", Role: "arn:aws-us-gov:iam::123456789012:role/a/trainer", Image: "123456789012.dkr.ecr.us-gov-west-1.amazonaws.com/trainer:1", Instance: "ml.p4d.24xlarge",
			Subnets: "subnet-0a1b2c, subnet-0a1b2d", SecurityGroups: "sg-0a1b2c",
		}
	}
	never := func(string) bool { return false }
	fitJob(u, never)
	fitClusters(u, never)
}

// agreeOnReward mends what a drawn reward's keys do not agree on.
func agreeOnReward(r *rl.RewardConfig) {
	if r.Model == "" { // no judge was drawn
		r.Add.Judge = 0
		if r.Use == "judge" {
			r.Use = "exact"
		}
	} else if !r.Judges() {
		r.Use = "judge"
	}
	for _, w := range []struct {
		name   string
		weight *float64
	}{{"cost", &r.Add.Cost}, {"exact", &r.Add.Exact}, {"format", &r.Add.Format}, {"judge", &r.Add.Judge}, {"overlong", &r.Add.Overlong}, {"turns", &r.Add.Turns}} {
		if w.name == r.Use {
			*w.weight = 0
		}
	}
	if r.OverlongMax == 0 {
		r.Add.Overlong = 0
		if r.Use == "overlong" {
			r.Use = "exact"
			r.Add.Exact = 0
		}
	}
	r.OverlongBuffer = min(r.OverlongBuffer, r.OverlongMax)
	if r.Passes < 2 {
		r.DeadBand = 0
	}
	if r.MaxUSD > 0 {
		r.USDIn = max(r.USDIn, .5)
	}
	if r.Context > 0 {
		r.ReplyTokens = min(r.ReplyTokens, r.Context-1)
	}
}

// makeLossAgree puts right what drawn keys of a loss contradict each other in.
func makeLossAgree(c *rl.Config) {
	l := &c.Loss
	if l.Use != "ppo" || l.RatioCap < 1+l.ClipHigh {
		l.RatioCap = 0
	}
	if l.Reduction != "constant" {
		l.Length = 0
	}
	if l.MismatchCap < 1 {
		l.MismatchCap = 0
	}
	if l.KL == "k1" {
		l.KLIn = "reward"
	}
	if l.KLCoef > 0 {
		l.Reference = "another@12"
	}
}

func TestCommentedReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := aConfig(t)
		b := Commented(c)
		got, err := Parse("run.yaml", b, names)
		if err != nil || got != c {
			t.Fatalf("%v\ngot  %+v\nwant %+v\n%s", err, got, c, b)
		}
		checkSchema(t, c, true)
	})
}

func TestCommentedGolden(t *testing.T) { golden(t, "testdata/run.yaml", Commented(recipe("orders"))) }
func TestSchemaGolden(t *testing.T)    { golden(t, "testdata/schema.json", Schema(names)) }

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); go test -update writes it anew; got:\n%s", path, err, got)
	}
}

type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// checkSchema holds a config's JSON form against the published schema.
func checkSchema(t tester, c rl.Config, want bool) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(names), &s); err != nil {
		t.Fatalf("the schema is no JSON Schema: %v", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("the schema does not resolve: %v", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(rl.CanonicalJSON(c), &doc); err != nil {
		t.Fatalf("%v", err)
	}
	if c.Store == "" {
		delete(doc, "store") // an empty text is a key left out
	}
	if err := r.Validate(doc); (err == nil) != want {
		t.Fatalf("schema says %v of %+v, want valid = %v", err, c, want)
	}
}

func TestSchemaRefusesWhatCheckRefuses(t *testing.T) {
	for _, f := range leaves {
		if f.unset(recipe("orders")) {
			continue
		}
		for _, spoil := range []float64{f.rule.min - 1, f.rule.max + 1} {
			c := recipe("orders")
			switch v := f.in(&c); f.kind {
			case number:
				v.SetFloat(spoil)
			case whole:
				v.SetInt(int64(spoil))
			case text:
				v.SetString("a word that is neither a name nor a form\n")
			default:
				continue
			}
			if f.optional && f.in(&c).IsZero() {
				continue
			}
			if Check(c, names) == nil {
				t.Errorf("%s: Check accepts %s", f.path, f.show(f.in(&c)))
			}
			checkSchema(t, c, false)
		}
	}
}

func TestEveryKeyHasARuleAndADescription(t *testing.T) {
	left := map[string]bool{}
	for path := range rules {
		left[path] = true
	}
	for _, f := range leaves {
		if !left[f.path] {
			t.Errorf("%s has no rule", f.path)
		}
		delete(left, f.path)
		if f.kind == text && (f.rule.names == nil) == (f.rule.form == nil) {
			t.Errorf("%s needs either names or a form", f.path)
		}
		if f.doc == "" || f.parent.doc == "" && f.parent != root {
			t.Errorf("%s has no doc tag, or its section has none", f.path)
		}
	}
	for path := range left {
		t.Errorf("the rule for %s is of no key", path)
	}
}

// A file that is no run.yaml is refused, whatever it holds: one that took minutes would end the tests.
func TestGarbageIsRefused(t *testing.T) {
	for i, unit := range []string{"|\n", "a: 1\n", "[", "{", "- ", "a: ", "&a ", "? ", "|\n", "[]", "*a\n", "x", "\"x\n", "'", "#\n", "---\n", "{}, ", "\x00", "\t", "\n", "!", ">", "%", ", ", "<<: "} {
		sizes := []int{4999, MaxSize / 8}
		if i < 2 { // the slowest two
			sizes = append(sizes, MaxSize, 10<<20)
		}
		for _, size := range sizes {
			src := []byte(strings.Repeat(unit, size/len(unit)))
			_, err := Parse("run.yaml", src, names)
			if rl.KindOf(err) != rl.Invalid || len(err.Error()) > 20_000 {
				t.Errorf("%q x %d: %v", unit, size, rl.KindOf(err))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(Commented(recipe("orders"))))
	for _, s := range []string{"", "name: a\nenv: {use: orders}", "name: a\nname: b", "a: &x [*x]", "? {a: b}\n: c", "%YAML 1.2\n---\na", "a: |\n  b\n", "\ufeffname: \"\\u00e9\"",
		"env:\n- use", "group: {size: -1}\nsampling: {temperature: .inf, seed: 99999999999999999999}", "<<: *a", "a: !!binary x", "- - - -", "'", "a:\n\tb: 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		cfg, err := Parse("run.yaml", []byte(src), names)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Fatalf("error of kind %q: %v", rl.KindOf(err), err)
			}
			return
		}
		if err := Check(cfg, names); err != nil {
			t.Fatalf("Parse accepts what Check refuses: %v", err)
		}
		if again, err := Parse("run.yaml", Commented(cfg), names); err != nil || again != cfg {
			t.Fatalf("does not read back: %v\n%+v\n%+v", err, cfg, again)
		}
	})
}
