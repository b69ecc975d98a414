package store_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// keeping is a gc without grace that keeps the newest n checkpoints and the best one.
func keeping(n int) store.GCOptions {
	return store.GCOptions{
		Retention:  func(rl.Config) store.Retention { return store.Retention{Last: n, Best: 1} },
		Evaluation: func(rl.Config) string { return "own" },
	}
}

// line publishes what the updates of a run leave: job, result, checkpoint, evaluation, journal and what replaces it.
// Every update has a chunk of its own and shares one with all runs.
func line(t testing.TB, s *store.Store, run rl.RunID, updates int) (refs []rl.Ref) {
	t.Helper()
	ctx := t.Context()
	must[rl.Ref](t)(s.PutNew(ctx, store.ConfigKey(run), rl.CanonicalJSON(rl.Config{Name: run, Env: rl.EnvConfig{Use: "orders", EpisodeTimeout: 1, TurnTimeout: 1}})))
	var parent *rl.Ref
	for n := range rl.UpdateNumber(updates) {
		ref := must[rl.Ref](t)(update(t, s, run, n, parent, atOnce))
		refs = append(refs, ref)
		parent = &ref
		success := rl.Rate{Mean: 1 / float64(1+n)}
		must[rl.Ref](t)(s.PutNew(ctx, store.EvaluationKey(run, n, "own"), rl.CanonicalJSON(rl.Evaluation{Schema: rl.EvaluationSchema, Greedy: success, Sampled: success})))
		is(t, s.Journal(store.JournalPrefix(run, n)).Append(ctx, rl.Entry{Turn: &rl.Recorded{}}), "")
		is(t, s.Journal(store.EvaluationJournalPrefix(run, n, "own")).Append(ctx, rl.Entry{Turn: &rl.Recorded{}}), "")
		must[rl.Ref](t)(s.PutNew(ctx, store.BatchKey(run, n), store.EncodeBatch(rows())))
		ledger := rl.Ledger{Schema: rl.LedgerSchema, Run: run, Update: n}
		if n == 1 { // of an episode that failed there is nothing but the journal
			ledger = rl.Ledger{Schema: rl.LedgerSchema, Run: run, Update: n, Asked: 1, LeftOut: map[rl.LeftOut]int{rl.EnvFailed: 1}, Slots: []rl.Slot{{LeftOut: rl.EnvFailed}}}
		}
		ledger.Balance()
		must[rl.Ref](t)(s.PutNew(ctx, store.LedgerKey(run, n), rl.CanonicalJSON(ledger)))
		must[rl.Ref](t)(s.PutNew(ctx, store.SummaryKey(run, n), rl.CanonicalJSON(rl.UpdateSummary{Schema: rl.UpdateSummarySchema, Run: run, Update: n, Checkpoint: ref})))
	}
	return refs
}

// atOnce does not dwell.
func atOnce() {}

// update does what the update stages do: job, chunks, result, manifest, pointer. It dwells where nothing refers to the
// chunks yet.
func update(t testing.TB, s *store.Store, run rl.RunID, n rl.UpdateNumber, parent *rl.Ref, dwell func()) (rl.Ref, error) {
	ctx := t.Context()
	spec := rl.CanonicalJSON(rl.UpdateSpec{Schema: rl.UpdateSpecSchema, Run: run, Update: n, Base: parent, Config: configOf(t, s, run)})
	job := store.SHA256(spec)
	if _, err := s.PutNew(ctx, store.JobSpecKey(job), spec); err != nil {
		return rl.Ref{}, err
	}
	for _, key := range []string{store.JobAttemptKey(job, 1), store.JobLogKey(job, 1)} {
		if _, err := s.Put(ctx, key, []byte("{}")); err != nil {
			return rl.Ref{}, err
		}
	}
	c := checkpoint(run, n, parent, "tokens", float64(n))
	for name, content := range map[string]string{"model.safetensors": fmt.Sprintf("%s of update %d", run, n), "tokenizer.json": "of all"} {
		f, err := s.PutFile(ctx, name, []byte(content))
		if err != nil {
			return rl.Ref{}, err
		}
		c.Files = append(c.Files, f)
	}
	dwell()
	slices.SortFunc(c.Files, func(a, b rl.File) int { return strings.Compare(a.Name, b.Name) })
	if _, _, err := s.PutResult(ctx, job, rl.UpdateResult{Schema: rl.UpdateResultSchema, Spec: job, Files: c.Files}); err != nil {
		return rl.Ref{}, err
	}
	ref, err := s.PutCheckpoint(ctx, c)
	if err != nil {
		return ref, err
	}
	return ref, s.MovePointer(ctx, run, store.Latest, ref, true)
}

// sound fails the test unless a run verifies and its newest checkpoint can be restored.
func sound(t testing.TB, s *store.Store, run rl.RunID) {
	t.Helper()
	report := must[store.Report](t)(s.Verify(t.Context(), run))
	if len(report.Faults) > 0 {
		t.Errorf("run %s: %+v", run, report.Faults)
	}
	if got := must[store.Restored](t)(s.Restore(t.Context(), run, nil)); len(got.Skipped) > 0 {
		t.Errorf("run %s: restore skips %+v", run, got.Skipped)
	}
}

func listed(t testing.TB, s *store.Store, prefix string) (keys []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), prefix) {
		is(t, err, "")
		keys = append(keys, o.Key)
	}
	return keys
}

// gc frees what is not kept and nothing else, says so beforehand in a dry run, and finds nothing more to do afterwards.
func collected(t *testing.T, s *store.Store) {
	ctx := t.Context()
	refs := line(t, s, "a", 6)
	line(t, s, "b", 3)
	orphan := must[rl.File](t)(s.PutFile(ctx, "f", []byte("of nobody")))
	before := listed(t, s, "")

	o := keeping(2)
	o.Runs = []rl.RunID{"a"}
	o.DryRun = true
	dry := must[store.GCReport](t)(s.GC(ctx, o))
	if after := listed(t, s, ""); !slices.Equal(after, before) {
		t.Fatalf("a dry run changed the store: %q", after)
	}
	o.DryRun, o.Grace = false, time.Hour
	young := must[store.GCReport](t)(s.GC(ctx, o))
	if young.Freed.Checkpoints != 3 || young.Freed.Chunks.Objects != 0 || young.Freed.Journals.Objects != 0 || young.Waiting.Objects != 4 {
		t.Errorf("within the grace period: %+v", young)
	}
	o.Grace = 0
	rest := must[store.GCReport](t)(s.GC(ctx, o))
	// 1, 2 and 3 go, each with its chunk and its job; the orphan goes. Journals go of updates 0, 2, 3 (1 had a failure)
	// and of the six evaluations.
	want := store.Freed{Checkpoints: 3, Jobs: 3, Chunks: store.Heap{Objects: 4}, Journals: store.Heap{Objects: 9}}
	for _, r := range []*store.GCReport{&dry, &rest} {
		r.Freed.Chunks.Bytes, r.Freed.Journals.Bytes = 0, 0
	}
	done := rest.Freed
	done.Checkpoints, done.Jobs = young.Freed.Checkpoints, young.Freed.Jobs
	if dry.Freed != want || done != want {
		t.Errorf("dry run %+v, done %+v; want %+v", dry.Freed, done, want)
	}
	const kept = "[{a@000000 best evaluated} {a@000004 newest} {a@000005 latest of a, newest}]"
	if got := fmt.Sprint(dry.Runs[0].Kept); got != kept || len(dry.Runs) != 1 || len(dry.Runs[0].Retired) != 3 {
		t.Errorf("the dry run says %+v, want kept %s", dry.Runs, kept)
	}
	is(t, s.CheckFiles(ctx, []rl.File{orphan}), rl.NotFound)
	_, err := s.Checkpoint(ctx, refs[2])
	is(t, err, rl.NotFound)
	was := must[rl.Retired](t)(s.Retired(ctx, "a", 2))
	if was.Manifest != refs[2] || was.Checkpoint.Update != 2 || *was.Checkpoint.Parent != refs[1] || !strings.Contains(was.Why, "newest 2") || was.Time.IsZero() {
		t.Errorf("the record of update 2: %+v", was)
	}
	if left := listed(t, s, "jobs/"); len(left) != 6*4 { // of the six updates that are left: spec, result, an attempt and its log
		t.Errorf("of jobs there are %q", left)
	}
	sound(t, s, "a")
	sound(t, s, "b")
	before = listed(t, s, "")
	again := must[store.GCReport](t)(s.GC(ctx, o))
	if again.Freed != (store.Freed{}) || !slices.Equal(before, listed(t, s, "")) {
		t.Errorf("once more: %+v", again.Freed)
	}
	o.Runs = []rl.RunID{"nobody"}
	_, err = s.GC(ctx, o)
	is(t, err, rl.NotFound)

	// A late duplicate does not bring a retired checkpoint back, a run that fell back does, to the same bytes.
	_, err = update(t, s, "a", 2, &refs[1], atOnce)
	is(t, err, rl.Conflict)
	is(t, s.Recall(ctx, "a", 1), "")
	if ref := must[rl.Ref](t)(update(t, s, "a", 2, &refs[1], atOnce)); ref != refs[2] {
		t.Errorf("made again as %v", ref)
	}
}

// Pins, pointers of any run and jobs under way keep a checkpoint, as long as they last.
func referredTo(t *testing.T, s *store.Store) {
	ctx := t.Context()
	refs := line(t, s, "a", 6)
	is(t, s.Pin(ctx, "a", 1, "p", "a test", time.Hour), "")
	is(t, s.Pin(ctx, "a", 9, "p9", "a test", time.Hour), rl.NotFound)
	is(t, s.MovePointer(ctx, "a", store.Best, refs[2], false), "")
	spec := rl.CanonicalJSON(rl.UpdateSpec{Schema: rl.UpdateSpecSchema, Run: "a", Update: 6, Base: &refs[3], Config: configOf(t, s, "a")})
	must[rl.Ref](t)(s.PutNew(ctx, store.JobSpecKey(store.SHA256(spec)), spec))
	must[store.GCReport](t)(s.GC(ctx, keeping(1)))
	if got := listed(t, s, store.CheckpointPrefix("a")); len(got) != 6 { // 0 is the best, 4 the newest's parent
		t.Errorf("kept %q", got)
	}
	is(t, s.Unpin(ctx, "a", "p"), "")
	is(t, s.Delete(ctx, store.JobSpecKey(store.SHA256(spec))), "")
	is(t, s.Pin(ctx, "a", 3, "old", "a test", -time.Hour), "")
	report := must[store.GCReport](t)(s.GC(ctx, keeping(1)))
	if got := listed(t, s, store.CheckpointPrefix("a")); len(got) != 4 || report.Freed.Notes != 1 {
		t.Errorf("kept %q, freed %+v", got, report.Freed)
	}
	sound(t, s, "a")

	// What cannot be read may refer to anything: nothing goes.
	damage(t, s, refs[0].Key)
	before := listed(t, s, "")
	_, err := s.GC(ctx, keeping(1))
	is(t, err, rl.Corrupt)
	if after := listed(t, s, ""); !slices.Equal(before, after) {
		t.Errorf("%q", after)
	}
}

// A gc that is killed at any of its requests leaves a sound store, and the next one ends its work.
func TestGCKilledAtAnyRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := server(t, t.TempDir())
		left := atomic.Int64{} // requests until it is killed
		left.Store(1 << 30)
		s := through(t, transport(func(r *http.Request) (*http.Response, error) {
			if left.Add(-1) < 0 {
				return answer(r, http.StatusForbidden, http.Header{}, http.NoBody), nil
			}
			return inprocess.Transport{Handler: h}.RoundTrip(r)
		}))
		refs := line(t, s, "a", 4)
		for k, n := 1, rl.UpdateNumber(4); ; k, n = k+1+k/4, n+1 {
			left.Store(int64(k))
			_, err := s.GC(t.Context(), keeping(1))
			left.Store(1 << 30)
			sound(t, s, "a")
			if err == nil {
				t.Logf("done within %d requests", k)
				return
			}
			is(t, err, rl.Refused)
			must[store.GCReport](t)(s.GC(t.Context(), keeping(1)))
			sound(t, s, "a")
			if got := listed(t, s, store.CheckpointPrefix("a")); len(got) != 3 { // the best, the newest and its parent
				t.Fatalf("killed at request %d, kept %q", k, got)
			}
			if got := listed(t, s, "cas/"); len(got) != 4 { // a model each, and the tokenizer
				t.Fatalf("killed at request %d, kept %d chunks", k, len(got))
			}
			refs = append(refs, must[rl.Ref](t)(update(t, s, "a", n, &refs[n-1], atOnce))) // more to do for the next
		}
	})
}

// gc without any grace runs in a loop beside publishers who share chunks, publish again what is there, and forget what
// they published. Nothing that is needed is ever missing; where gc was faster, a publisher was told so in time.
func gcBesidePublishers(t *testing.T, s *store.Store) {
	const updates = 15
	dwell := func() { time.Sleep(rand.N(60 * time.Millisecond)) }
	var publishers, collector sync.WaitGroup
	var again, collections, freed atomic.Int64
	stop := make(chan struct{})
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r, err := s.GC(t.Context(), keeping(1))
			if err != nil {
				t.Error(err)
				return
			}
			collections.Add(1)
			freed.Add(int64(r.Freed.Chunks.Objects))
		}
	})
	for _, run := range []rl.RunID{"a", "b", "c"} {
		must[rl.Ref](t)(s.PutNew(t.Context(), store.ConfigKey(run), rl.CanonicalJSON(rl.Config{Name: run, Env: rl.EnvConfig{Use: "orders", EpisodeTimeout: 1, TurnTimeout: 1}})))
		publishers.Go(func() {
			var parent *rl.Ref
			for n := rl.UpdateNumber(0); n < updates || freed.Load() == 0 && !t.Failed(); n++ { // gc may not have begun
				for {
					ref, err := update(t, s, run, n, parent, dwell)
					if rl.KindOf(err) == rl.Unavailable {
						again.Add(1)
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					parent = &ref
					break
				}
				if got, err := s.Restore(t.Context(), run, nil); err != nil || got.Checkpoint.Update != n || len(got.Skipped) > 0 {
					t.Errorf("%s@%d: %v %v", run, n, err, got.Skipped)
				}
				if n%3 == 2 { // it plays what it made before
					if err := s.Pin(t.Context(), run, n-1, "p", "a test", time.Hour); err != nil && rl.KindOf(err) != rl.NotFound {
						t.Error(err)
					} else if _, c, found := s.FindCheckpoint(t.Context(), run, n-1); err == nil && (found != nil || s.CheckFiles(t.Context(), c.Files) != nil) {
						t.Errorf("%s@%d is pinned and gone: %v", run, n-1, found)
					}
				}
			}
		})
	}
	publishers.Wait()
	close(stop)
	collector.Wait()
	t.Logf("%d collections freed %d chunks; %d updates of %d were made again", collections.Load(), freed.Load(), again.Load(), 3*updates)
	for _, run := range []rl.RunID{"a", "b", "c"} {
		sound(t, s, run)
	}
	if freed.Load() == 0 {
		t.Error("nothing was freed: the test shows nothing")
	}
}

// configOf is the reference of a run's configuration.
func configOf(t testing.TB, s *store.Store, run rl.RunID) rl.Ref {
	t.Helper()
	ref, _, err := s.Find(t.Context(), store.ConfigKey(run))
	is(t, err, "")
	return ref
}

// What a run's loss compares with stays until the run's last update is made, in whatever run it lies.
func keepsTheReference(t *testing.T, s *store.Store) {
	ctx := t.Context()
	line(t, s, "base", 4)
	cfg := rl.Config{Name: "tuned", Updates: 2, Env: rl.EnvConfig{Use: "orders", EpisodeTimeout: 1, TurnTimeout: 1}, Loss: rl.LossConfig{KLCoef: .1, Reference: "base@000001"}}
	must[rl.Ref](t)(s.PutNew(ctx, store.ConfigKey("tuned"), rl.CanonicalJSON(cfg)))
	there := func() bool {
		must[store.GCReport](t)(s.GC(ctx, keeping(1)))
		_, err := s.Head(ctx, store.CheckpointKey("base", 1))
		return err == nil
	}
	if !there() {
		t.Error("the reference is gone before the first update")
	}
	var parent *rl.Ref
	for n := range rl.UpdateNumber(3) {
		ref := must[rl.Ref](t)(update(t, s, "tuned", n, parent, atOnce))
		parent = &ref
		if want := n < 2; there() != want {
			t.Errorf("after update %d: want the reference there = %v", n, want)
		}
	}
}
