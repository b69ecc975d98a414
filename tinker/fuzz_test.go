package tinker

import (
	"testing"
	"testing/synctest"

	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever a service gives as one of its answers, an update is what it should be, or an error of a kind.
func FuzzAnswers(f *testing.F) {
	for at, says := range []string{"null", `{"request_id": "1"}`, `{"model_id": "m", "request_id": "2"}`, `{"loss_fn_outputs": [{"logprobs": {"data": [-1, null]}}], "metrics": {}}`,
		`{"path": "tinker://m/weights/x"}`, `{"metrics": {"skyrl.ai/grad_norm": 1e999}}`, `{"session_id": 3}`, "\x00"} {
		f.Add(at+1, says)
	}
	f.Fuzz(func(t *testing.T, at int, says string) {
		synctest.Test(t, func(t *testing.T) {
			l := &liar{Service: simtinker.New()}
			client := New(Options{URL: "http://tinker", Transport: l})
			from, err := client.Do(t.Context(), Update{Base: base, Name: "run-00000000-a1"})
			if err != nil {
				t.Fatal(err)
			}
			l.asked, l.at, l.says = 0, at, says
			saved, err := client.Do(t.Context(), taught(from.Weights))
			if err != nil && rl.KindOf(err) == "" {
				t.Errorf("an error without a kind, %v", err)
			}
			if got := l.Saved(saved.Weights); err == nil && !near(got.Weight, weight) {
				t.Errorf("%+v", got)
			}
		})
	})
}

// A checkpoint's file is refused, or written again as the same.
func FuzzCheckpoint(f *testing.F) {
	f.Add(Checkpoint{Base: base, Saved: Saved{Weights: "tinker://m/weights/a", Sampler: "tinker://m/a"}}.Encode())
	f.Add([]byte(`{"schema":"longhaul/tinker/1"}`))
	f.Add([]byte(`{"schema":"longhaul/tinker/1","rank":-1,"weights":"a","sampler":"b","model":"m"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCheckpoint(b)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Error(err)
			}
			return
		}
		if again, err := DecodeCheckpoint(c.Encode()); err != nil || again != c {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}
