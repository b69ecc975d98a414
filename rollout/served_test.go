package rollout

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// answeredBy gives the answers of h in the names of models, turn by turn; empty: the one that was asked for.
func answeredBy(h http.Handler, models ...string) http.Handler {
	turn := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		var reply map[string]any
		if err := json.NewDecoder(rec.Body).Decode(&reply); err != nil {
			panic(err)
		}
		if models[turn] != "" {
			reply["model"] = models[turn]
		}
		turn++
		json.NewEncoder(w).Encode(reply)
	})
}

// A turn is of the version that served it, whatever was asked for; what servers call a model that is no version of ours says
// nothing about versions.
func TestTurnsAreOfTheVersionThatServedThem(t *testing.T) {
	play := inTurn(says("", "echo", `{"text":"a"}`), says("", "echo", `{"text":"b"}`), says("", "end", "{}"))
	for name, c := range map[string]struct {
		ask    string
		models []string
		want   []rl.Version
	}{
		"as asked":            {"r@000002", []string{"", "", ""}, []rl.Version{"r@000002", "r@000002", "r@000002"}},
		"an older one":        {"r@000002", []string{"", "r@000001", ""}, []rl.Version{"r@000002", "r@000001", "r@000002"}},
		"the base":            {"r@000002", []string{"", "", "base"}, []rl.Version{"r@000002", "r@000002", "base"}},
		"asked for the base":  {"base", []string{"", "r@000001", ""}, []rl.Version{"r@000002", "r@000001", "r@000002"}},
		"the base's own name": {"gpt-4o", []string{"gpt-4o-2024-08-06", "", ""}, []rl.Version{"r@000002", "r@000002", "r@000002"}},
	} {
		o := options()
		o.Version, o.Model = "r@000002", c.ask
		got := mustRun(t, onStage(echo), client(answeredBy(scripted(play), c.models...)), o)
		for i, turn := range got.Turns {
			if turn.Action.Version != c.want[i] {
				t.Errorf("%s: turn %d is of %s, want %s", name, i, turn.Action.Version, c.want[i])
			}
		}
		if got.Policy.First != c.want[0] || got.Policy.Last != c.want[2] {
			t.Errorf("%s: %+v", name, got.Policy)
		}
	}
}
