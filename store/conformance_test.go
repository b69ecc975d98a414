package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// TestConformance holds every endpoint to one suite.
func TestConformance(t *testing.T) {
	type named struct {
		name string
		run  func(*testing.T, *store.Store)
	}
	cases := []named{
		{"check", checkPasses},
		{"first write wins", firstWriteWins},
		{"keys", oddKeys},
		{"list", listing},
		{"references", references},
		{"files", files},
		{"damaged chunk", damagedChunk},
		{"pointers", pointers},
		{"restore", restore},
		{"restore, nothing left", restoreNothing},
		{"republish a damaged manifest", republish},
		{"journal", journal},
		{"damaged segment", damagedSegment},
		{"trajectories", trajectories},
		{"changed configurations", changedConfigs},
		{"attempts at a job", attempts},
		{"a served policy's configuration", servedConfig},
		{"verify", verify},
		{"gc", collected},
		{"gc keeps the reference", keepsTheReference},
		{"gc keeps what is referred to", referredTo},
	}
	races := []named{
		{"racing publishers", racingPublishers},
		{"latest under races", latestUnderRaces},
		{"gc beside publishers", gcBesidePublishers},
	}
	for _, e := range endpoints {
		t.Run(e.name, func(t *testing.T) {
			cases := cases
			if e.atomic {
				cases = slices.Concat(cases, races)
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, e.open(t)) })
			}
		})
	}
}

// is fails the test unless err is of a kind; "" means no error.
func is(t testing.TB, err error, want rl.Kind) {
	t.Helper()
	if rl.KindOf(err) != want || (want == "") != (err == nil) {
		t.Fatalf("error of kind %q: %v; want %q", rl.KindOf(err), err, want)
	}
}

// must returns v, or ends the test.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func checkPasses(t *testing.T, s *store.Store) {
	is(t, s.Check(t.Context()), "")
	for o, err := range s.List(t.Context(), "") {
		t.Errorf("%v was left behind, %v", o, err)
	}
}

func firstWriteWins(t *testing.T, s *store.Store) {
	ctx := t.Context()
	ref, err := s.PutNew(ctx, "k", []byte("one"))
	is(t, err, "")
	if want := (rl.Ref{Key: "k", SHA256: "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", Size: 3}); ref != want {
		t.Errorf("got %v, want %v", ref, want)
	}
	again, err := s.PutNew(ctx, "k", []byte("one"))
	is(t, err, "")
	if again != ref {
		t.Errorf("the same content again is %v", again)
	}
	_, err = s.PutNew(ctx, "k", []byte("two"))
	is(t, err, rl.Conflict)
	if at := err.(*rl.Error).At; at != "store k" {
		t.Errorf("At is %q", at)
	}
	recorded, body, err := s.PutFirst(ctx, "k", []byte("two"))
	is(t, err, "")
	if recorded != ref || string(body) != "one" {
		t.Errorf("PutFirst returned %v %q", recorded, body)
	}
	_, err = s.Put(ctx, "k", []byte("three"))
	is(t, err, "")
	if got := must[[]byte](t)(s.Get(ctx, "k")); string(got) != "three" {
		t.Errorf("after Put: %q", got)
	}
	is(t, s.Delete(ctx, "k"), "")
	is(t, s.Delete(ctx, "k"), "")
	_, err = s.Get(ctx, "k")
	is(t, err, rl.NotFound)
	_, err = s.Head(ctx, "k")
	is(t, err, rl.NotFound)
	_, err = s.PutNew(ctx, "empty", nil)
	is(t, err, "")
	if got := must[[]byte](t)(s.Get(ctx, "empty")); len(got) != 0 {
		t.Errorf("an empty object reads as %q", got)
	}
}

func oddKeys(t *testing.T, s *store.Store) {
	for _, key := range []string{"a b", "é/ü", "a+b%20c", "x@y:z=1&2", "runs/r/updates/00000001/groups/a%2Fb/scores.json"} {
		must[rl.Ref](t)(s.PutNew(t.Context(), key, []byte(key)))
		if got := must[[]byte](t)(s.Get(t.Context(), key)); string(got) != key {
			t.Errorf("%q reads as %q", key, got)
		}
		listed := ""
		for o, err := range s.List(t.Context(), key) {
			is(t, err, "")
			listed = o.Key
		}
		if listed != key {
			t.Errorf("%q is listed as %q", key, listed)
		}
	}
}

func listing(t *testing.T, s *store.Store) {
	ctx := t.Context()
	for _, key := range []string{"runs/b/config.json", "runs/a/config.json", "runs/a/ckpt/00000001.json", "runs/Not A Run/x", "runs/loose", "other"} {
		must[rl.Ref](t)(s.PutNew(ctx, key, []byte(key)))
	}
	var got []string
	for o, err := range s.List(ctx, "runs/a/") {
		is(t, err, "")
		if int(o.Size) != len(o.Key) || o.Modified.IsZero() {
			t.Errorf("%+v", o)
		}
		got = append(got, o.Key)
	}
	if want := []string{"runs/a/ckpt/00000001.json", "runs/a/config.json"}; !slices.Equal(got, want) {
		t.Errorf("List: %q, want %q", got, want)
	}
	names := must[[]string](t)(s.Names(ctx, "runs/a/"))
	if slices.Sort(names); !slices.Equal(names, []string{"ckpt/", "config.json"}) {
		t.Errorf("Names: %q", names)
	}
	if runs := must[[]rl.RunID](t)(s.Runs(ctx)); !slices.Equal(runs, []rl.RunID{"a", "b"}) {
		t.Errorf("Runs: %q", runs)
	}
}

func references(t *testing.T, s *store.Store) {
	ctx := t.Context()
	ref := must[rl.Ref](t)(s.PutNew(ctx, "k", []byte("one")))
	if found, body, err := s.Find(ctx, "k"); err != nil || found != ref || string(body) != "one" {
		t.Errorf("Find: %v %q %v", found, body, err)
	}
	must[rl.Ref](t)(s.Put(ctx, "k", []byte("two")))
	_, err := s.GetRef(ctx, ref)
	is(t, err, rl.Corrupt)
	task := rl.Task{ID: "train-1", Env: "orders", Split: rl.Train, Index: 1}
	ref, recorded, err := store.PutJSON(ctx, s, "t.json", task)
	is(t, err, "")
	if recorded != task {
		t.Errorf("PutJSON: %v", recorded)
	}
	_, recorded, err = store.PutJSON(ctx, s, "t.json", rl.Task{ID: "train-2"})
	is(t, err, "")
	if recorded != task || must[rl.Task](t)(store.GetJSON[rl.Task](ctx, s, ref)) != task {
		t.Errorf("the second PutJSON: %v", recorded)
	}
	must[rl.Ref](t)(s.PutNew(ctx, "list.json", []byte("[1]")))
	_, _, err = store.FindJSON[rl.Task](ctx, s, "list.json")
	is(t, err, rl.Corrupt)
}

func files(t *testing.T, s *store.Store) {
	for _, size := range []int{0, 1, store.ChunkSize + 3} {
		content := bytes.Repeat([]byte("longhaul"), size/8+1)[:size]
		f := must[rl.File](t)(s.PutFile(t.Context(), "f", content))
		if f.Size != int64(size) || f.SHA256 != store.SHA256(content) || len(f.Chunks) != (size+store.ChunkSize-1)/store.ChunkSize {
			t.Errorf("%d bytes: %+v", size, f)
		}
		if got := must[[]byte](t)(s.ReadFile(t.Context(), f)); !bytes.Equal(got, content) {
			t.Errorf("%d bytes read back as %d", size, len(got))
		}
		if size > store.ChunkSize {
			continue
		}
		f.SHA256 = store.SHA256([]byte("other"))
		_, err := s.ReadFile(t.Context(), f)
		is(t, err, rl.Corrupt)
	}
}

// A chunk that is damaged is noticed when it is read, and mended by whoever stores that content again.
func damagedChunk(t *testing.T, s *store.Store) {
	f := must[rl.File](t)(s.PutFile(t.Context(), "f", []byte("content")))
	must[rl.Ref](t)(s.Put(t.Context(), store.ChunkKey(f.Chunks[0]), []byte("c0ntent")))
	_, err := s.ReadFile(t.Context(), f)
	is(t, err, rl.Corrupt)
	is(t, s.CheckFiles(t.Context(), []rl.File{f}), rl.Corrupt)
	must[rl.File](t)(s.PutFile(t.Context(), "f", []byte("content")))
	is(t, s.CheckFiles(t.Context(), []rl.File{f}), "")
	is(t, s.Delete(t.Context(), store.ChunkKey(f.Chunks[0])), "")
	is(t, s.CheckFiles(t.Context(), []rl.File{f}), rl.NotFound)
}

// Of many publishers of one update exactly one content wins, and all who published it are told so.
func racingPublishers(t *testing.T, s *store.Store) {
	var wg sync.WaitGroup
	refs, errs := make([]rl.Ref, 16), make([]error, 16)
	for i := range refs {
		wg.Go(func() {
			refs[i], errs[i] = s.PutCheckpoint(t.Context(), checkpoint("race", 9, nil, "content", float64(i%4)))
		})
	}
	wg.Wait()
	winner, won := must2(s.FindCheckpoint(t.Context(), "race", 9))(t)
	for i, err := range errs {
		if mine := won.Metrics["loss"] == float64(i%4); mine != (err == nil) || !mine && rl.KindOf(err) != rl.Conflict || mine && refs[i] != winner {
			t.Errorf("publisher %d of content %d: %v %v; content %v won", i, i%4, refs[i], err, won.Metrics["loss"])
		}
	}
}

func must2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
}

func latestUnderRaces(t *testing.T, s *store.Store) {
	const updates = 24
	ctx, stop := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { // it is never seen to go back
		for last := ""; ctx.Err() == nil; {
			if ref, err := s.Pointer(ctx, "race", store.Latest); err == nil {
				if ref.Key < last {
					t.Errorf("latest went from %s back to %s", last, ref.Key)
				}
				last = ref.Key
			}
		}
	})
	var wg sync.WaitGroup
	for i := range updates {
		wg.Go(func() {
			ref := store.RefOf(store.CheckpointKey("race", rl.UpdateNumber(i)), []byte(fmt.Sprint(i)))
			if err := s.MovePointer(t.Context(), "race", store.Latest, ref, true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	stop()
	watch.Wait()
	if ref := must[rl.Ref](t)(s.Pointer(t.Context(), "race", store.Latest)); ref.Key != "runs/race/ckpt/00000023.json" {
		t.Errorf("latest is %s", ref.Key)
	}
}
