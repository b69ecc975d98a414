package activities

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// forgetful is a place that knows nothing any more of a job that it has cancelled, as a cluster does.
type forgetful struct {
	mu     sync.Mutex
	status launch.Status
	starts int
	seen   func() // is called when the job is found running
}

func (f *forgetful) Ensure(_ context.Context, _ launch.Job, attempt int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starts++
	f.status = launch.Status{State: launch.Running, Attempt: attempt, Identity: "pod rl/p", Queued: 2 * time.Second, Ran: 20 * time.Second, Billed: 5 * time.Second}
	return nil
}

func (f *forgetful) Poll(context.Context, launch.Job) (launch.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen != nil && f.status.State == launch.Running {
		f.seen()
	}
	return f.status, nil
}

func (f *forgetful) Cancel(context.Context, launch.Job) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = launch.Status{State: launch.Absent}
	return nil
}

func (f *forgetful) Logs(context.Context, launch.Job) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.status.State == launch.Absent {
		return nil, rl.Errorf(rl.NotFound, "job", "nothing is known of it")
	}
	return io.NopCloser(strings.NewReader("epoch 1\n")), nil
}

// What a cancelled attempt wrote and took is on record where the place itself forgets it, and the next has a number of its own.
func TestCancelledJobsAreOnRecord(t *testing.T) {
	st := open(t).store
	place := &forgetful{status: launch.Status{State: launch.Absent}}
	w := &jobWatch{store: st, launcher: place, config: rl.UpdateConfig{USDHour: 3600}, job: launch.Job{Key: strings.Repeat("ab", 32)}}
	if err := w.cancel(t.Context()); err != nil {
		t.Fatalf("nothing to cancel: %v", err)
	}
	for want := 1; want <= 2; want++ {
		n, err := w.next(t.Context(), place.status)
		if err != nil || n != want {
			t.Fatalf("the next attempt is %d, %v, want %d", n, err, want)
		}
		if err := place.Ensure(t.Context(), w.job, n); err != nil {
			t.Fatal(err)
		}
		if err := w.cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if log, err := st.Get(t.Context(), store.JobLogKey(w.job.Key, n)); err != nil || string(log) != "epoch 1\n" {
			t.Errorf("its log is %q, %v", log, err)
		}
	}
	all, err := st.JobAttempts(t.Context(), w.job.Key)
	if err != nil || len(all) != 2 || all[1].State != "lost" || all[1].Exit != -1 || all[1].Why != "cancelled" || all[1].RanSeconds != 20 {
		t.Errorf("on record are %+v, %v", all, err)
	}
	if use, err := w.use(t.Context(), rl.UpdateResult{}); err != nil || use.RanSeconds != 40 || use.USD != 10 {
		t.Errorf("it took %+v, %v; what is billed is 10 s at 1 USD a second", use, err)
	}
}

// Settings that are changed while a job runs make another job of the update: the one before does not go on for nobody.
func TestAReplacedJobIsEnded(t *testing.T) {
	st := open(t).store
	place := &forgetful{status: launch.Status{State: launch.Running, Attempt: 1}}
	var withdrawn []string
	of := func(key string) *jobWatch {
		return &jobWatch{store: st, launcher: place, withdraw: func(_ context.Context, job string) error { withdrawn = append(withdrawn, job[:1]); return nil }, job: launch.Job{Run: run, Update: 3, Key: strings.Repeat(key, 64)}, kept: rl.JobRecord{Schema: rl.JobRecordSchema, Key: strings.Repeat(key, 64), Launcher: "local"}}
	}
	if _, err := st.Put(t.Context(), store.JobRecordKey(run, 3), rl.CanonicalJSON(of("a").kept)); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]launch.State{"a": launch.Running, "b": launch.Absent} {
		place.status = launch.Status{State: launch.Running, Attempt: 1}
		if err := of(key).replace(t.Context()); err != nil || place.status.State != want {
			t.Errorf("job %s: the first one is %s, %v, want %s", key, place.status.State, err, want)
		}
	}
	if !slices.Equal(withdrawn, []string{"a"}) {
		t.Errorf("GPUs were given back of %q", withdrawn)
	}
	if all, err := st.JobAttempts(t.Context(), of("a").job.Key); err != nil || len(all) != 1 || all[0].Why != "cancelled" {
		t.Errorf("on record are %+v, %v", all, err)
	}
}

// A stage whose job is cancelled by another, and so is gone, does not start it again by itself.
func TestStageOfACancelledJobEnds(t *testing.T) {
	place := &forgetful{status: launch.Status{State: launch.Absent}}
	w := &jobWatch{store: open(t).store, launcher: place, config: rl.UpdateConfig{Timeout: rl.Duration(time.Hour)}, job: launch.Job{Key: strings.Repeat("ab", 32)}}
	w.enter = func(context.Context) (func(), error) { return func() {}, nil }
	var failed error
	cancelled := make(chan error, 1)
	other := *w // the cancelling is another stage's
	place.seen = sync.OnceFunc(func() { go func() { cancelled <- other.cancel(context.Background()) }() })
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		_, _, failed = w.result(ctx)
		return nil
	}, activity.RegisterOptions{Name: "stage"})
	if _, err := env.ExecuteActivity("stage"); err != nil {
		t.Fatal(err)
	}
	if err := <-cancelled; err != nil {
		t.Error(err)
	}
	if rl.KindOf(failed) != rl.Unavailable || !strings.Contains(failed.Error(), "it is gone") || place.starts != 1 {
		t.Errorf("started %d times: %v", place.starts, failed)
	}
}
