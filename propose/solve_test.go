package propose

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// What an attempt came to is not found out twice, also where the server says another thing each time.
func TestAnAttemptIsPlayedOnce(t *testing.T) {
	a := newAuthor(t)
	o := options(a, t.TempDir())
	calls := filepath.Join(t.TempDir(), "calls")
	o.Env.MCP.Command += " " + calls
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	asked, made, before := len(a.asked), read1(t, calls), read1(t, o.Out)
	batches := 0
	o.Say = func(string, ...any) {
		if batches++; read1(t, o.Out) != before {
			t.Errorf("after batch %d the file has:\n%s", batches, read1(t, o.Out))
		}
	}
	if _, err := Run(t.Context(), o); err != nil || batches < 2 {
		t.Error(batches, err)
	}
	if len(a.asked) != asked || read1(t, calls) != made || read1(t, o.Out) != before {
		t.Errorf("%d questions after %d, %d calls of tools after %d", len(a.asked), asked, len(read1(t, calls)), len(made))
	}
	none(t)
}

func read1(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What one model did is not another's.
func TestAnotherSolverPlaysForItself(t *testing.T) {
	a := newAuthor(t)
	o := options(a, t.TempDir())
	o.Tasks, o.Solver.Model = 2, "weak"
	if r, err := Run(t.Context(), o); rl.KindOf(err) != rl.Exhausted || r.Tasks != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	o.Solver.Model = "solver"
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	played := 0
	for body := range a.asked {
		if strings.Contains(body, `"model":"solver"`) && strings.Contains(body, `"tools"`) {
			played++
		}
	}
	for _, task := range written1(t, o) {
		if task.Origin.Solver != "solver" || played < 4 {
			t.Errorf("%+v, of %d calls of the solver", task.Origin, played)
		}
	}
}

// A conversation that the solver's server refuses is that task's, and calls are made again where the server is away.
func TestAServerThatRefusesOneTask(t *testing.T) {
	a := newAuthor(t)
	o := options(a, t.TempDir())
	o.Solver.Model = "picky"
	r, err := Run(t.Context(), o)
	if err != nil || r.Tasks != 6 || r.Refused["the solver's server refused it"] == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	o = options(a, t.TempDir())
	o.Tasks = 1
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.mu.Lock(); a.fails > 0 {
			a.fails--
			a.mu.Unlock()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		a.mu.Unlock()
		a.ServeHTTP(w, r)
	}))
	defer away.Close()
	o.Solver.URL, a.fails = away.URL+"/v1", 2
	if r, err := Run(t.Context(), o); err != nil || a.fails != 0 {
		t.Errorf("%+v, %v, %d failures to come", r, err, a.fails)
	}
}

// A call that may be sent again has a key that no call of another attempt has.
func TestCallsAreToldApart(t *testing.T) {
	a := newAuthor(t)
	o := options(a, t.TempDir())
	calls := filepath.Join(t.TempDir(), "calls")
	o.Env.MCP.Command, o.Env.MCP.Effect = o.Env.MCP.Command+" "+calls, "external_idempotent"
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields(read1(t, calls))
	if n := len(keys); n < 6 || r.Batches < 3 || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != n {
		t.Errorf("%d batches, %q", r.Batches, keys)
	}
}

// An attempt that was interrupted does nothing again that must be done once, where the server says other things than before.
func TestAnAttemptThatCannotBeRepeated(t *testing.T) {
	for effect, refused := range map[string]int{"episode_local": 0, "external_once": 1} {
		a := newAuthor(t)
		o := options(a, t.TempDir())
		o.Tasks, o.Concurrency, o.Batch = 1, 1, 1
		o.Env.MCP.Command, o.Env.MCP.Effect = o.Env.MCP.Command+" "+filepath.Join(t.TempDir(), "calls"), effect
		ctx, cancel := context.WithCancel(t.Context())
		a.stop = func(requests int) {
			if requests == 3 { // it was told what a call gave
				cancel()
			}
		}
		if _, err := Run(ctx, o); err == nil {
			t.Fatal("it was not interrupted")
		}
		a.stop = nil
		if r, err := Run(t.Context(), o); err != nil || len(r.Refused) != refused {
			t.Errorf("%s: %+v, %v", effect, r, err)
		}
	}
}
