package sqlite

import (
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Names vary wherever they stand, as texts or as numbers, and nothing else does: not what a column, a tool or a split is called.
func TestNamesVaryWhereTheyStand(t *testing.T) {
	const task = `{"split": "warm_up", "goal": "Lend book 12 to title.", "seed": {"books": [{"id": 12, "title": "Book 12", "price": 12.5}]}, "vary": ["12", "title"], ` +
		`"checks": [{"why": "w", "sql": "SELECT count(*) FROM loans"}], "reference": [{"tool": "lend_book", "arguments": {"book": 12, "reader": "title", "days": 7}}, {"tool": "final_text", "arguments": {"text": "Book 12"}}]}`
	w, err := read(t.Context(), "library", library(t, map[string]string{"tasks.jsonl": string(library(t, nil)["tasks.jsonl"].Data) + task}))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		d, err := w.demonstrate(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(strings.TrimSuffix(d.Messages[0].Content, ".")) // Lend book 12 to title
		number, reader := words[2], words[4]
		if want := `{"book":` + number + `,"days":7,"reader":"` + reader + `"}`; string(d.Messages[1].ToolCalls[0].Arguments) != want {
			t.Errorf("%s, not %s", d.Messages[1].ToolCalls[0].Arguments, want)
		}
		if want := "Book " + number + " is lent to " + reader; d.Messages[2].Content != want || d.Messages[3].Content != "Book "+number {
			t.Errorf("%q, %q, not %q", d.Messages[2].Content, d.Messages[3].Content, want)
		}
		seen[number] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d numbers in 100 demonstrations", len(seen))
	}
}

// A name of which eval tasks have all that are like it cannot vary, and is told when the world is opened; a short one is no part of
// a long one.
func TestNamesThatCannotVary(t *testing.T) {
	const warm = `{"split": "warm_up", "goal": "Lend book 7.", "vary": ["7"], "checks": [{"why": "w", "sql": "SELECT 0"}], "reference": [{"tool": "find_books", "arguments": {}}]}`
	for facts, want := range map[string]string{
		`["0 1 2 3 4", "5 6", "8", "9", "7 "]`: `tasks.jsonl:3: vary: "7": eval tasks have the others like it`,
		`["order 9876543210"]`:                 "",
	} {
		tasks := taskHead + "}" + strings.Replace(evalTask, `"goal"`, `"facts": `+facts+`, "goal"`, 1) + "\n" + warm
		w, err := read(t.Context(), "library", library(t, map[string]string{"tasks.jsonl": tasks}))
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, not %q", facts, err, want)
		}
		if err == nil {
			if _, err := w.demonstrate(t.Context(), 1); err != nil || len(w.tasks[rl.WarmUp]) != 1 {
				t.Error(err)
			}
		}
	}
}
