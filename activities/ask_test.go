package activities

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// A run whose record of what it has spent is lost or damaged does not get its budget again: the record is made from the answers.
func TestSpendingIsWorkedOutAgain(t *testing.T) {
	b := open(t, "a")
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"model":"m","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":1000}}`)
	}))
	defer judge.Close()
	config := rl.RewardConfig{URL: judge.URL + "/v1", Model: "m", Concurrency: 1, USDIn: 1, USDOut: 1, MaxCalls: 3}
	a := asking{b.store, reward.NewClient(config, "", nil), config, run, 1, "train-1"}
	ask := func(seed uint64) error {
		_, err := a.ask(t.Context(), reward.Question{Model: "m", Seed: seed, MaxTokens: 1000})
		return err
	}
	for seed := range uint64(2) {
		if err := ask(seed); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.store.Put(t.Context(), store.SpendKey(run), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := ask(2); err != nil {
		t.Fatal(err)
	}
	_, spend, err := store.FindJSON[rl.Spend](t.Context(), b.store, store.SpendKey(run))
	if err != nil || spend.Calls != 3 || spend.USD != .006 || len(spend.Open) != 0 {
		t.Errorf("%+v %v", spend, err)
	}
	if err := b.store.Delete(t.Context(), store.SpendKey(run)); err != nil {
		t.Fatal(err)
	}
	if err := ask(3); rl.KindOf(err) != rl.Exhausted {
		t.Errorf("a fourth call: %v", err)
	}
	if err := ask(0); err != nil { // it is on record
		t.Error(err)
	}
}

// Spending that is none is worked out again; what another version of the program wrote is not overwritten, and nothing is spent.
func TestSpendingOfAnotherForm(t *testing.T) {
	b := open(t, "a")
	calls := 0
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		io.WriteString(w, `{"model":"m","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":1000}}`)
	}))
	defer judge.Close()
	config := rl.RewardConfig{URL: judge.URL + "/v1", Model: "m", Concurrency: 1, USDIn: 1, USDOut: 1, MaxCalls: 2}
	a := asking{b.store, reward.NewClient(config, "", nil), config, run, 1, "train-1"}
	ask := func(seed uint64) error {
		_, err := a.ask(t.Context(), reward.Question{Model: "m", Seed: seed, MaxTokens: 1000})
		return err
	}
	put := func(spend string) {
		t.Helper()
		if _, err := b.store.Put(t.Context(), store.SpendKey(run), []byte(spend)); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(2) {
		if err := ask(seed); err != nil {
			t.Fatal(err)
		}
	}
	for _, none := range []string{"null", "{}", `{"calls":0}`} {
		put(none)
		if err := ask(2); rl.KindOf(err) != rl.Exhausted || calls != 2 {
			t.Errorf("%s: %v after %d calls", none, err, calls)
		}
	}
	const newer = `{"schema":"longhaul/spend/2","calls":0,"eur":7}`
	put(newer)
	if err := ask(3); rl.KindOf(err) != rl.Refused || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if body, err := b.store.Get(t.Context(), store.SpendKey(run)); string(body) != newer {
		t.Errorf("%s %v", body, err)
	}
}
