package workers

import (
	"bytes"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// embeddedStore is the store of an embedded server alone.
func embeddedStore(t *testing.T) *store.Store {
	t.Helper()
	d, err := dev.Start(t.Context(), dev.Options{Dir: t.TempDir(), S3: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop() })
	p := d.Process()
	st, err := store.Open(t.Context(), "s3://"+dev.Bucket, store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey, Transport: d.S3Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// A run is complete when its last update left everything: what is missing is made by starting it again.
func TestComplete(t *testing.T) {
	st := embeddedStore(t)
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Updates = 3
	check := func(what string, cfg rl.Config, want bool) {
		t.Helper()
		if got, err := complete(t.Context(), st, cfg); got != want || err != nil {
			t.Errorf("%s: complete says %v, %v; want %v", what, got, err, want)
		}
	}
	check("nothing", cfg, false)
	manifest, err := st.PutCheckpoint(t.Context(), rl.Checkpoint{Schema: rl.CheckpointSchema, Run: cfg.Name, Update: 3, Version: rl.VersionOf(cfg.Name, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.MovePointer(t.Context(), cfg.Name, store.Latest, manifest, true); err != nil {
		t.Fatal(err)
	}
	check("the checkpoint alone", cfg, false)
	unevaluated := cfg
	unevaluated.Eval.Every = 0
	for _, key := range []string{store.SummaryKey(cfg.Name, 3), store.EvaluationKey(cfg.Name, 3, workflows.EvaluationKey(cfg))} {
		check("without "+key, cfg, false)
		if _, err := st.Put(t.Context(), key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		check("no evaluation is due", unevaluated, true)
	}
	check("all", cfg, true)
}

// A run that was recorded before an option existed goes on, with the option's default.
func TestConfigOfAnOlderVersion(t *testing.T) {
	st := embeddedStore(t)
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Replace(rl.CanonicalJSON(cfg), []byte(`"valid":0.5,"resample":2,`), nil, 1)
	was, err := st.PutNew(t.Context(), store.ConfigKey(cfg.Name), body)
	if err != nil || bytes.Contains(body, []byte("resample")) {
		t.Fatal(err)
	}
	if ref, _, err := recordConfig(t.Context(), st, cfg); err != nil || ref != was {
		t.Fatalf("%v %v", ref, err)
	}
	cfg.Group.Resample = 3
	if _, _, err := recordConfig(t.Context(), st, cfg); rl.KindOf(err) != rl.Conflict || !strings.Contains(err.Error(), "group.resample") {
		t.Fatal(err)
	}
}

// A run is not started, nor changed, to compare itself with what is not there; its own version 0 is yet to be made, unless gc
// has retired it.
func TestReferenceMustBeThere(t *testing.T) {
	st := embeddedStore(t)
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	publish := func(run rl.RunID, n rl.UpdateNumber) {
		t.Helper()
		manifest, err := st.PutCheckpoint(t.Context(), rl.Checkpoint{Schema: rl.CheckpointSchema, Run: run, Update: n, Version: rl.VersionOf(run, n)})
		if err == nil {
			err = st.MovePointer(t.Context(), run, store.Latest, manifest, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg.Loss.KLCoef, cfg.Loss.Reference = .1, "base@000001"
	if _, _, err := recordConfig(t.Context(), st, cfg); rl.KindOf(err) != rl.NotFound || !strings.Contains(err.Error(), "loss.reference base@000001") {
		t.Errorf("a reference that is not there: %v", err)
	}
	publish("base", 1)
	if _, _, err := recordConfig(t.Context(), st, cfg); err != nil {
		t.Errorf("a reference that is there: %v", err)
	}
	own := cfg
	own.Name, own.Loss.Reference = "own", ""
	if key, err := referenceOf(t.Context(), st, own); key != "" || err != nil {
		t.Errorf("its own, before the run: %q, %v", key, err)
	}
	plain := own
	plain.Loss.KLCoef = 0
	if _, _, err := recordConfig(t.Context(), st, plain); err != nil {
		t.Fatal(err)
	}
	for n := range rl.UpdateNumber(3) {
		publish("own", n)
	}
	if key, err := referenceOf(t.Context(), st, own); key != store.CheckpointKey("own", 0) || err != nil {
		t.Errorf("its own: %q, %v", key, err)
	}
	_, err = st.GC(t.Context(), store.GCOptions{Evaluation: workflows.EvaluationKey, Retention: func(rl.Config) store.Retention { return store.Retention{Last: 1} }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := referenceOf(t.Context(), st, own); rl.KindOf(err) != rl.NotFound {
		t.Errorf("its own, retired: %v", err)
	}
}
