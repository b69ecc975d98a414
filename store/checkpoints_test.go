package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// checkpoint is a manifest without files.
func checkpoint(run rl.RunID, n rl.UpdateNumber, parent *rl.Ref, tokenizer string, loss float64) rl.Checkpoint {
	return rl.Checkpoint{
		Schema: rl.CheckpointSchema, Run: run, Update: n, Version: rl.VersionOf(run, n), Parent: parent,
		Metrics: map[string]float64{"loss": loss}, Formats: map[string]string{}, Tokenizer: store.SHA256([]byte(tokenizer)),
	}
}

// publish stores checkpoints 0..n-1 of a run, each the child of the one before, and points latest at the last.
func publish(t testing.TB, s *store.Store, run rl.RunID, n int) (refs []rl.Ref) {
	t.Helper()
	var parent *rl.Ref
	for i := range n {
		c := checkpoint(run, rl.UpdateNumber(i), parent, "tokens", float64(i))
		for _, name := range []string{"config.json", "model.safetensors"} {
			c.Files = append(c.Files, must[rl.File](t)(s.PutFile(t.Context(), name, fmt.Appendf(nil, "%s of update %d", name, i))))
		}
		ref := must[rl.Ref](t)(s.PutCheckpoint(t.Context(), c))
		is(t, s.MovePointer(t.Context(), run, store.Latest, ref, true), "")
		refs = append(refs, ref)
		parent = &ref
	}
	return refs
}

// model is the chunk of the model of a checkpoint.
func model(t testing.TB, s *store.Store, ref rl.Ref) string {
	t.Helper()
	c := must[rl.Checkpoint](t)(s.Checkpoint(t.Context(), ref))
	f, _ := c.File("model.safetensors")
	return store.ChunkKey(f.Chunks[0])
}

// damage overwrites an object.
func damage(t testing.TB, s *store.Store, key string) {
	t.Helper()
	must[rl.Ref](t)(s.Put(t.Context(), key, []byte(`{"damaged":true}`)))
}

func pointers(t *testing.T, s *store.Store) {
	ctx := t.Context()
	_, err := s.Pointer(ctx, "a", store.Latest)
	is(t, err, rl.NotFound)
	refs := publish(t, s, "a", 3)
	is(t, s.MovePointer(ctx, "a", store.Latest, refs[0], true), "") // stays
	if got := must[rl.Ref](t)(s.Pointer(ctx, "a", store.Latest)); got != refs[2] {
		t.Errorf("latest is %v", got)
	}
	other := refs[2]
	other.SHA256 = strings.Repeat("0", 64)
	is(t, s.MovePointer(ctx, "a", store.Latest, other, true), rl.Conflict)
	is(t, s.MovePointer(ctx, "a", store.Latest, rl.Ref{Key: "runs/a/config.json"}, true), rl.Invalid)
	for _, to := range []rl.Ref{refs[1], refs[2], refs[0]} { // the best may be any
		is(t, s.MovePointer(ctx, "a", store.Best, to, false), "")
		if got := must[rl.Ref](t)(s.Pointer(ctx, "a", store.Best)); got != to {
			t.Errorf("best is %v, not %v", got, to)
		}
	}
	damage(t, s, store.PointerKey("a", store.Latest))
	_, err = s.Pointer(ctx, "a", store.Latest)
	is(t, err, rl.Corrupt)
	is(t, s.MovePointer(ctx, "a", store.Latest, refs[2], true), "") // mended
	if got := must[rl.Ref](t)(s.Pointer(ctx, "a", store.Latest)); got != refs[2] {
		t.Errorf("latest is %v after it was mended", got)
	}
}

// Restore falls back from what is damaged to what is whole, and says what it passed over.
func restore(t *testing.T, s *store.Store) {
	ctx := t.Context()
	cases := []struct {
		name    string
		harm    func(run rl.RunID, refs []rl.Ref)
		update  rl.UpdateNumber
		skipped []string // what the reasons say, in order
	}{
		{"whole", func(rl.RunID, []rl.Ref) {}, 2, nil},
		{"damaged chunk", func(_ rl.RunID, refs []rl.Ref) { damage(t, s, model(t, s, refs[2])) }, 1, []string{"model.safetensors"}},
		{"lost chunk", func(_ rl.RunID, refs []rl.Ref) { is(t, s.Delete(ctx, model(t, s, refs[2])), "") }, 1, []string{"model.safetensors"}},
		{"damaged manifest", func(_ rl.RunID, refs []rl.Ref) { damage(t, s, refs[2].Key) }, 1, []string{"sha256"}},
		{"lost manifest, damaged parent", func(_ rl.RunID, refs []rl.Ref) {
			damage(t, s, model(t, s, refs[1]))
			is(t, s.Delete(ctx, refs[2].Key), "")
		}, 0, []string{"no such object", "model.safetensors"}},
		{"lost pointer", func(run rl.RunID, _ []rl.Ref) { is(t, s.Delete(ctx, store.PointerKey(run, store.Latest)), "") }, 2, []string{"no such object"}},
		{"damaged pointer", func(run rl.RunID, _ []rl.Ref) { damage(t, s, store.PointerKey(run, store.Latest)) }, 2, []string{"no checkpoint"}},
	}
	for i, c := range cases {
		run := rl.RunID(fmt.Sprint("r", i))
		// Each run has chunks of its own: a file says which update of which run it is of.
		var refs []rl.Ref
		var parent *rl.Ref
		for n := range 3 {
			m := checkpoint(run, rl.UpdateNumber(n), parent, "tokens", 0)
			m.Files = []rl.File{must[rl.File](t)(s.PutFile(ctx, "model.safetensors", fmt.Appendf(nil, "%s@%d", run, n)))}
			ref := must[rl.Ref](t)(s.PutCheckpoint(ctx, m))
			is(t, s.MovePointer(ctx, run, store.Latest, ref, true), "")
			refs, parent = append(refs, ref), &ref
		}
		c.harm(run, refs)
		got, err := s.Restore(ctx, run, nil)
		if err != nil || got.Ref != refs[c.update] || got.Checkpoint.Update != c.update || string(content(t, s, got.Checkpoint, "model.safetensors")) != fmt.Sprintf("%s@%d", run, c.update) {
			t.Errorf("%s: %v %v", c.name, got.Ref, err)
		}
		if len(got.Skipped) != len(c.skipped) {
			t.Errorf("%s: skipped %v", c.name, got.Skipped)
			continue
		}
		for j, want := range c.skipped {
			if !strings.Contains(got.Skipped[j].Why, want) {
				t.Errorf("%s: skipped %v, want %q", c.name, got.Skipped[j], want)
			}
		}
	}
}

func content(t *testing.T, s *store.Store, c rl.Checkpoint, name string) []byte {
	f, _ := c.File(name)
	return must[[]byte](t)(s.ReadFile(t.Context(), f))
}

func restoreNothing(t *testing.T, s *store.Store) {
	_, err := s.Restore(t.Context(), "none", nil)
	is(t, err, rl.NotFound)
	refs := publish(t, s, "a", 2)
	got := must[store.Restored](t)(s.Restore(t.Context(), "a", &refs[0]))
	if got.Checkpoint.Update != 0 || len(got.Checkpoint.Files) != 2 {
		t.Errorf("%+v", got)
	}
	for _, ref := range refs {
		damage(t, s, model(t, s, ref))
	}
	got, err = s.Restore(t.Context(), "a", nil)
	is(t, err, rl.Corrupt)
	if len(got.Skipped) != 2 || got.Skipped[0].Key != refs[1].Key || !strings.Contains(err.Error(), refs[1].Key) {
		t.Errorf("%v: %v", got.Skipped, err)
	}
}

// A manifest that was damaged after it was published is replaced by the same update done again; the pointer knows
// what was published. Another manifest is still a conflict.
func republish(t *testing.T, s *store.Store) {
	refs := publish(t, s, "a", 2)
	c := must[rl.Checkpoint](t)(s.Checkpoint(t.Context(), refs[1]))
	damage(t, s, refs[1].Key)
	other := c
	other.Metrics = map[string]float64{"loss": 7}
	_, err := s.PutCheckpoint(t.Context(), other)
	is(t, err, rl.Conflict)
	if ref := must[rl.Ref](t)(s.PutCheckpoint(t.Context(), c)); ref != refs[1] {
		t.Errorf("published again as %v", ref)
	}
	if got := must[store.Restored](t)(s.Restore(t.Context(), "a", nil)); got.Ref != refs[1] || len(got.Skipped) > 0 {
		t.Errorf("%v %v", got.Ref, got.Skipped)
	}
}

// Whatever lies at a manifest's key, it is that update's manifest, and written again as the same, or Corrupt.
func FuzzManifest(f *testing.F) {
	key := store.CheckpointKey("a", 3)
	f.Add([]byte(rl.CanonicalJSON(checkpoint("a", 3, &rl.Ref{Key: "k"}, "tokens", 1))))
	f.Add([]byte(rl.CanonicalJSON(checkpoint("b", 3, nil, "tokens", 1))))
	f.Add([]byte(`{"schema":"longhaul/checkpoint/9"}`))
	f.Add([]byte(`{"files":[{"size":-1,"chunks":null}],"metrics":{"loss":1e999}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := store.DecodeManifest(key, b)
		if err != nil {
			is(t, err, rl.Corrupt)
			return
		}
		again, err := store.DecodeManifest(key, rl.CanonicalJSON(c))
		if err != nil || string(rl.CanonicalJSON(again)) != string(rl.CanonicalJSON(c)) || c.Run != "a" || c.Update != 3 {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}
