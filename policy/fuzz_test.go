package policy

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever a server's other pages say (the models that it has, whether it is paused, its counters), they are read, or an error
// of a kind, or nothing.
func FuzzPages(f *testing.F) {
	f.Add(`{"object":"list","data":[{"id":"a@000001","root":"/adapters/a"},{"id":"base"}]}`)
	f.Add(`{"is_paused":true}`)
	f.Add("# TYPE vllm:request_queue_time_seconds_sum counter\nvllm:request_queue_time_seconds_sum{model=\"}\"} 1.5e+02\nvllm:request_queue_time_seconds_count 3\n")
	f.Add("sglang:queue_time_seconds_sum{ NaN\nsglang:queue_time_seconds_sum}")
	f.Fuzz(func(t *testing.T, body string) {
		s := New(Options{URL: "http://fuzz/v1", Transport: fixed{200, body}}).servers[0]
		known, err := s.models(t.Context())
		if err != nil && rl.KindOf(err) == "" {
			t.Errorf("models: %v", err)
		}
		for name, root := range known {
			if root == nil {
				t.Errorf("model %q lies nowhere", name)
			}
		}
		if paused, knows := s.isPaused(); paused && !knows {
			t.Error("it is paused and does not say so")
		}
		s.pulse.measure()
		s.pulse.measure()
		if s.limit.now < 0 {
			t.Errorf("at most %v requests", s.limit.now)
		}
	})
}
