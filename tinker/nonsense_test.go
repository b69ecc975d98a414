package tinker

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
)

// liar is a service of whose answers one, by its number, is another.
type liar struct {
	*simtinker.Service
	asked, at int
	says      string // of the answer, "" its own
}

func (l *liar) RoundTrip(q *http.Request) (*http.Response, error) {
	res, err := inprocess.Transport{Handler: l.Service}.RoundTrip(q)
	if strings.HasSuffix(q.URL.Path, "session_heartbeat") {
		return res, err
	}
	if l.asked++; l.asked != l.at {
		return res, err
	}
	res.Body.Close()
	w := httptest.NewRecorder()
	w.WriteString(l.says)
	return w.Result(), nil
}

// Whatever a service answers, an update is right or an error.
func TestNonsenseIsNoUpdate(t *testing.T) {
	for _, says := range []string{"null", "{}", "[]", `"yes"`, "<html>", `{"request_id": 7}`, `{"path": "", "metrics": null}`, `{"metrics": {"skyrl.ai/grad_norm": "much"}}`,
		`{"loss_fn_outputs": null}`, `{"loss_fn_outputs": [{}]}`, `{"loss_fn_outputs": [{"logprobs": {"data": [null]}}]}`} {
		right := 0
		for at := 1; at < 40; at++ {
			synctest.Test(t, func(t *testing.T) {
				l := &liar{Service: simtinker.New()}
				client := New(Options{URL: "http://tinker", Transport: l})
				from, err := client.Do(t.Context(), Update{Base: base, Name: "run-00000000-a1"})
				if err != nil {
					t.Fatal(err)
				}
				l.asked, l.at, l.says = 0, at, says
				saved, err := client.Do(t.Context(), taught(from.Weights))
				got := l.Saved(saved.Weights)
				switch {
				case err != nil && rl.KindOf(err) == "":
					t.Errorf("answer %d is %s: an error without a kind, %v", at, says, err)
				case err == nil && !near(got.Weight, weight):
					t.Errorf("answer %d is %s: %+v", at, says, got)
				case err == nil:
					right++
				}
			})
		}
		if right == 0 {
			t.Errorf("%s: no update was right", says)
		}
	}
}

// A model that has come to NaN answers null, which is no log-probability of 0.
func TestNullIsNoNumber(t *testing.T) {
	for _, s := range []string{`{"logprobs": [null], "tokens": [1]}`, `{"logprobs": [-1, null], "tokens": [1, 2]}`} {
		var a sampled
		if err := json.Unmarshal([]byte(s), &a); err == nil || !strings.Contains(err.Error(), "is null") {
			t.Errorf("%s is %v, %v", s, a, err)
		}
	}
}
