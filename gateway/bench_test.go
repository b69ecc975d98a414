package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
	"github.com/longhaul-rl/longhaul/store"
)

// BenchmarkAdded measures what the gateway adds to a request: the same one, of an episode with 20 turns and 6,000 tokens behind it, sent to a policy
// server that answers at once, and sent through the gateway to that server, by turns. All three go over sockets. With journal, the
// turn is made durable in the embedded store before it is answered, as in a run.
func BenchmarkAdded(b *testing.B) {
	b.Run("gateway", func(b *testing.B) { benchAdded(b, nil) })
	b.Run("gateway_and_journal", func(b *testing.B) { benchAdded(b, journal(b)) })
}

func journal(b *testing.B) func(context.Context, rl.Recorded) error {
	server, err := s3.Open(b.TempDir(), s3.Options{AccessKey: "access", SecretKey: "secret"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { server.Close() })
	st, err := store.Open(b.Context(), "s3://bucket/runs", store.Options{Endpoint: "http://embedded.local", AccessKey: "access", SecretKey: "secret", Transport: inprocess.Transport{Handler: server}})
	if err != nil {
		b.Fatal(err)
	}
	j, n := st.Journal(store.JournalPrefix("run", 1)), 0
	return func(ctx context.Context, r rl.Recorded) error {
		n++
		return j.Append(ctx, rl.Entry{Member: rl.Member{Task: "train-0"}, Index: n - 1, Turn: &r})
	}
}

func benchAdded(b *testing.B, record func(context.Context, rl.Recorded) error) {
	script := &scripted{script: []string{spoken(strings.Repeat("a word ", 10))}}
	direct := httptest.NewServer(script)
	b.Cleanup(direct.Close)
	w := play(b, script, func(o *rollout.Options) {
		o.MaxTurns = 1 << 30
		if record != nil {
			o.Record = record
		}
	})
	w.Episode.client = policy.New(policy.Options{URL: direct.URL + "/v1", Splice: true, Concurrency: 8})
	messages := []string{said("user", "go")}
	for range 20 {
		w.says(messages...)
		messages = append(messages, spoken(strings.Repeat("a word ", 10)), said("user", strings.Repeat("a result ", 25)))
	}
	var bare, through []time.Duration
	for i := range b.N {
		body := fmt.Sprintf(`{"model":"m","messages":[%s,%s]}`, strings.Join(messages, ","), said("user", fmt.Sprint(i)))
		bare = append(bare, timed(b, direct.URL+"/v1/chat/completions", "", body))
		through = append(through, timed(b, w.URL+"/chat/completions", w.Key, body))
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return all[len(all)/2].Seconds() * 1e3
	}
	x, y := median(bare), median(through)
	b.ReportMetric(x, "ms-direct")
	b.ReportMetric(y, "ms-through")
	b.ReportMetric(y-x, "ms-added")
	b.ReportMetric(y/x, "ratio")
}

func timed(b *testing.B, url, key, body string) time.Duration {
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	began := time.Now()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
		b.Fatal(res.Status, err)
	}
	return time.Since(began)
}
