package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/store"
)

// adapted is a store with a LoRA checkpoint, r@000003.
func adapted(t *testing.T) *store.Store {
	t.Helper()
	server, err := s3.Open(t.TempDir(), s3.Options{AccessKey: "access", SecretKey: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	st, err := store.Open(t.Context(), "s3://bucket", store.Options{Endpoint: "http://embedded.local", AccessKey: "access", SecretKey: "secret", Transport: inprocess.Transport{Handler: server}})
	if err != nil {
		t.Fatal(err)
	}
	f32 := safetensors.F32
	c := rl.Checkpoint{Schema: rl.CheckpointSchema, Run: "r", Update: 3, Version: "r@000003"}
	for name, content := range map[string][]byte{
		"config.json": []byte("{}"), "optimizer.safetensors": []byte("state"), "tokenizer.json": []byte("{}"),
		"model.safetensors": safetensors.Encode(nil, []safetensors.Tensor{f32("q.weight", []int{1, 2}, []float32{1, 2})}),
		adapter.ConfigFile:  []byte(`{"peft_type": "LORA", "r": 1, "lora_alpha": 2}`),
		adapter.WeightsFile: safetensors.Encode(nil, []safetensors.Tensor{f32("base_model.model.q.lora_A.weight", []int{1, 2}, []float32{10, 20}), f32("base_model.model.q.lora_B.weight", []int{1, 1}, []float32{3})}),
	} {
		f, err := st.PutFile(t.Context(), name, content)
		if err != nil {
			t.Fatal(err)
		}
		c.Files = append(c.Files, f)
	}
	if _, err := st.PutCheckpoint(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return st
}

// Of exports that write the same directory one does; those that write others go on when one has ended.
func TestExportsAtOnce(t *testing.T) {
	st, dir := adapted(t), t.TempDir()
	a, conn := &app{out: newOutput(os.Stdout, os.Stderr, os.Getenv)}, &conn{Store: st}
	a.out.quiet = true
	out, other := filepath.Join(dir, "out"), filepath.Join(dir, "other")
	lock, err := lockExport(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.export(t.Context(), conn, "r@3", out, false); rl.KindOf(err) != rl.Conflict || !strings.Contains(err.Error(), "another export") {
		t.Errorf("beside another: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if exporter(out) == exporter(other) {
		t.Error("two exports have one lease")
	}
	var all sync.WaitGroup
	done := make([]error, 6)
	for i := range done {
		all.Go(func() { _, done[i] = a.export(t.Context(), conn, "r@3", out, false) })
	}
	all.Wait()
	if n := len(slices.DeleteFunc(done, func(err error) bool { return rl.KindOf(err) == rl.Conflict })); n != 1 {
		t.Errorf("%d exports have written it", n)
	}
	if got := exportedWeights(t, out); !slices.Equal(got, []float32{61, 122}) {
		t.Errorf("%v", got)
	}
	if left, _ := filepath.Glob(out + ".*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func exportedWeights(t *testing.T, dir string) []float32 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	_, tensors, err := safetensors.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tensors[0].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A LoRA version is written merged, or its adapter alone. What a killed export has left is gone on from.
func TestExportOfAnAdapter(t *testing.T) {
	st := adapted(t)
	a, conn, dir := &app{out: newOutput(os.Stdout, os.Stderr, os.Getenv)}, &conn{Store: st}, t.TempDir()
	a.out.quiet = true
	// A merge was killed after it had changed the weights.
	left := filepath.Join(dir, "merged.r@000003.part")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "model.safetensors"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	// One of the adapter alone had begun with other files.
	strange := filepath.Join(dir, "alone.r@000003-adapter.part", "model-00001-of-00002.safetensors")
	if err := os.MkdirAll(strange, 0o755); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string][]string{"merged": {"config.json", "model.safetensors", "tokenizer.json"}, "alone": {adapter.ConfigFile, adapter.WeightsFile}} {
		e, err := a.export(t.Context(), conn, "r@3", filepath.Join(dir, out), out == "alone")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(e.Files, want) || e.Merged != (out == "merged") {
			t.Errorf("%s: %+v", out, e)
		}
	}
	if got := exportedWeights(t, filepath.Join(dir, "merged")); !slices.Equal(got, []float32{61, 122}) { // 1 + 2*3*10, 2 + 2*3*20
		t.Errorf("%v", got)
	}
	if names, err := st.Names(t.Context(), "runs/r/pins/"); err != nil || len(names) > 0 {
		t.Errorf("pins are left: %v %v", names, err)
	}
}

// A Tinker service keeps the base model, and an adapter is all that there is to write.
func TestAnAdapterWithoutItsBaseIsNotMerged(t *testing.T) {
	c := rl.Checkpoint{Version: "r@000003", Files: []rl.File{{Name: adapter.ConfigFile}, {Name: adapter.WeightsFile}, {Name: "tinker.json"}}}
	if _, _, err := modelFiles(c, false); rl.KindOf(err) != rl.Invalid {
		t.Errorf("merged: %v", err)
	}
	if files, _, err := modelFiles(c, true); err != nil || len(files) != 2 {
		t.Errorf("alone: %v, %v", files, err)
	}
}
