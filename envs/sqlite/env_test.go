package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// opened begins the first training task of the library, with some files replaced.
func opened(t testing.TB, replaced map[string]string) *env {
	t.Helper()
	w, err := read(t.Context(), "library", library(t, replaced))
	if err != nil {
		t.Fatal(err)
	}
	e := &env{world: w}
	t.Cleanup(func() { e.Close() })
	if _, err := e.Reset(t.Context(), w.task(rl.Train, 0)); err != nil {
		t.Fatal(err)
	}
	return e
}

func step(t testing.TB, e *env, tool, arguments string) envs.Result {
	t.Helper()
	r, err := e.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{Name: tool, Arguments: json.RawMessage(arguments)}})
	if err != nil {
		t.Fatalf("%s(%s): %v", tool, arguments, err)
	}
	return r
}

// What the agent makes of the state cannot keep an episode from its score.
func TestAStateThatChecksDoNotSuitIsNoWayOut(t *testing.T) {
	line := `{"split": "train", "goal": "Lend.", "seed": {"books": [{"id": 1, "title": "Emma"}, {"id": 2, "title": "Ulysses"}]}, "checks": [{"why": "not one loan", "sql": "SELECT %s FROM loans"}], "reference": []}` + "\n" +
		`{"split": "eval", "goal": "x", "checks": [{"why": "y", "sql": "SELECT count(*) FROM loans"}], "reference": []}`
	for sql, why := range map[string]string{
		"days = 7":                         "not one loan (it gives more than one row)",
		"reader":                           "not one loan (it gives more than one row)",
		"max(reader)":                      "not one loan (it must give a number, 0 or 1, not Bea)",
		"json_extract(max(reader), '$.a')": "not one loan (malformed JSON)",
	} {
		e := opened(t, map[string]string{"tasks.jsonl": fmt.Sprintf(line, sql)})
		step(t, e, "lend_book", `{"book":1,"reader":"Ada","days":7}`)
		step(t, e, "lend_book", `{"book":2,"reader":"Bea","days":7}`)
		if s, err := e.Score(t.Context()); err != nil || !s.Scored() || s.Value != 0 || s.Reason != why {
			t.Errorf("%s: %+v, %v", sql, s, err)
		}
	}
}

func TestCallsSayWhatSQLiteSays(t *testing.T) {
	e := opened(t, nil)
	for _, c := range [][3]string{
		{"find_books", `{}`, "{\"id\":1,\"title\":\"Emma\",\"price\":7.5,\"reserved\":0,\"cover\":null}\n{\"id\":2,\"title\":\"Ulysses\",\"price\":null,\"reserved\":0,\"cover\":null}"},
		{"find_books", `{"word":null}`, "{\"id\":1,\"title\":\"Emma\",\"price\":7.5,\"reserved\":0,\"cover\":null}\n{\"id\":2,\"title\":\"Ulysses\",\"price\":null,\"reserved\":0,\"cover\":null}"},
		{"find_books", `{"word":"'; DELETE FROM books; --"}`, "no such book"},
		{"lend_book", `{"book":2,"reader":"Bea","days":0}`, "error: CHECK constraint failed: days BETWEEN 1 AND 28"},
		{"lend_book", `{"book":7,"reader":"Bea","days":7}`, "error: FOREIGN KEY constraint failed"},
		{"lend_book", `{"book":2,"reader":"Bea","days":7.0}`, "Ulysses is lent to Bea"},
		{"lend_book", `{"book":2,"reader":"Cy","days":7}`, "error: the book is lent; it comes back"},
		{"lend_book", `{"book":99999999999999999999,"reader":"Cy","days":7}`, `bad call: "book": 99999999999999999999 has more digits than a whole number can keep`},
		{"return_book", `{"book":1}`, "it was not lent"},
		{"return_book", `{"book":2}`, "done"},
		{"sell_book", `{"book":2}`, `bad call: there is no tool "sell_book"; the tools are find_books, lend_book, return_book`},
		{"return_book", `{"book":"2"}`, `bad call: "book" of return_book must be integer, not string`},
	} {
		if got := step(t, e, c[0], c[1]); got.Content != c[2] || got.Done {
			t.Errorf("%s(%s): %+v, not %q", c[0], c[1], got, c[2])
		}
	}
	if r := step(t, e, envs.FinalText, `"Emma"`); !r.Done {
		t.Errorf("the last word: %+v", r)
	}
	if r := step(t, e, "find_books", `{}`); r.Content != "closed" || !r.Done {
		t.Errorf("after it: %+v", r)
	}
	s, err := e.Score(t.Context())
	if err != nil || s.Value != 0 || s.Reason != "Ada has not just book 2" || s.Metrics["checks_fraction"] != .5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// No model reads the clock, which an episode that is resumed would read at another time: not where a tool trims what it is given or
// takes it out of a list, nor where it is kept for another tool or a check.
func TestNobodyReadsTheClock(t *testing.T) {
	head := "-- Tells a day.\n-- effect: pure\n-- param day: {}\n"
	e := opened(t, map[string]string{
		"tools/after.sql":   head + "SELECT date(trim(:day), '+1 day');",
		"tools/earlier.sql": head + "SELECT min(date(value)) FROM json_each(:day);",
	})
	for _, c := range [][3]string{
		{"after", `{"day":"2026-02-28"}`, "2026-03-01"},
		{"after", `{"day":"now"}`, `bad call: "day": write the day, not "now"`},
		{"after", `{"day":" NOW\n"}`, `bad call: "day": write the day, not " NOW\n"`},
		{"after", `{"day":"localtime"}`, `bad call: "day": write the day, not "localtime"`},
		{"earlier", `{"day":["2026-03-01","2026-02-28"]}`, "2026-02-28"},
		{"earlier", `{"day":["2026-03-01","\u006eow"]}`, `bad call: "day": write the day, not "[\"2026-03-01\",\"\\u006eow\"]"`},
		{"earlier", `{"day":"{\"a\":[\"Now\"]}"}`, `bad call: "day": write the day, not "{\"a\":[\"Now\"]}"`},
		{"lend_book", `{"book":1,"reader":"utc","days":7}`, `bad call: "reader": write the day, not "utc"`},
		{"lend_book", `{"book":1,"reader":"I know nowadays","days":7}`, "Emma is lent to I know nowadays"},
		{"lend_book", `{"book":2,"reader":"A\u0000B","days":7}`, `bad call: "reader": a text with a NUL in it is one thing to some of SQLite, and another to the rest`},
	} {
		if r := step(t, e, c[0], c[1]); r.Content != c[2] {
			t.Errorf("%s(%s): %q, not %q", c[0], c[1], r.Content, c[2])
		}
	}
	if r := step(t, e, envs.FinalText, `"Now."`); r.Content != `bad call: "text": write the day, not "Now."` || !r.Done {
		t.Errorf("the last word: %+v", r)
	}
	if r := step(t, opened(t, nil), "lend_book", `{"book":2,"reader":"now","days":7}`); r.Content != "Ulysses is lent to now" {
		t.Errorf("in a world without a function of time: %+v", r)
	}
}

// What a call cannot help is no observation, and an empty text is one that can be seen.
func TestWhatACallSays(t *testing.T) {
	e := opened(t, map[string]string{"tools/blank.sql": "-- Is blank.\n-- effect: pure\nVALUES (''), ('');"})
	if r := step(t, e, "blank", "{}"); r.Content != "\"\"\n\"\"" {
		t.Errorf("%+v", r)
	}
	if err := e.data.do(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	r, err := e.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{Name: "return_book", Arguments: json.RawMessage(`{"book":1}`)}})
	if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "BEGIN: ") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A call that fails half-way has changed nothing.
func TestCallsAreWhole(t *testing.T) {
	e := opened(t, map[string]string{"tools/lend_all.sql": "-- Lends all.\n-- effect: episode_local\nINSERT INTO loans VALUES (1, 'Ada', 3);\nINSERT INTO loans VALUES (1, 'Bea', 3);"})
	was, err := e.data.image()
	if err != nil {
		t.Fatal(err)
	}
	if r := step(t, e, "lend_all", "{}"); r.Content != "error: the book is lent; it comes back" {
		t.Errorf("%+v", r)
	}
	if now, err := e.data.image(); err != nil || string(now) != string(was) {
		t.Errorf("half a call stays: %v", err)
	}
}

// What a call may use is limited, and running into a limit is the same each time.
func TestLimits(t *testing.T) {
	series := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT :n) "
	e := opened(t, map[string]string{
		"tools/long.sql":  "-- A long text.\n-- effect: pure\n-- param n: {\"type\": \"integer\"}\nSELECT length(hex(zeroblob(:n)));",
		"tools/many.sql":  "-- Many rows.\n-- effect: pure\n-- param n: {\"type\": \"integer\"}\n" + series + "SELECT 'a row of a result' FROM n;",
		"tools/large.sql": "-- A large table.\n-- effect: episode_local\n-- param n: {\"type\": \"integer\"}\n" + series + "INSERT INTO said SELECT hex(zeroblob(1000)) FROM n;",
	})
	for _, c := range [][3]string{
		{"long", `{"n":100}`, "200"},
		{"long", `{"n":1000000}`, "error: string or blob too big"},
		{"many", `{"n":1000000}`, "error: the result is too long"},
		{"large", `{"n":100000}`, "error: database or disk is full"},
		{"large", `{"n":10}`, "done"},
	} {
		if r := step(t, e, c[0], c[1]); r.Content != c[2] {
			t.Errorf("%s(%s): %q, not %q", c[0], c[1], r.Content, c[2])
		}
	}
	if image, err := e.data.image(); err != nil || len(image) > mostBytes {
		t.Errorf("a database of %d bytes, %v", len(image), err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) != 0 && strings.Contains(files[0].Name(), "-journal") {
		t.Errorf("%v, %v", files, err)
	}
}

// A call that would never end is cut off by its deadline; that is a failure, and the episode can still be closed.
func TestCallsAreCutOff(t *testing.T) {
	e := opened(t, map[string]string{"tools/endless.sql": "-- Never ends.\n-- effect: episode_local\nWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO said SELECT max(i) FROM n;"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := e.Step(ctx, envs.Call{ToolCall: rl.ToolCall{Name: "endless", Arguments: json.RawMessage("{}")}})
	if rl.KindOf(err) != rl.Unavailable || time.Since(start) > time.Minute {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	if r := step(t, e, "return_book", `{"book":1}`); r.Content != "it was not lent" {
		t.Errorf("afterwards: %+v", r)
	}
}

// A snapshot is what has changed: small, and of no other world, task or damage.
func TestSnapshotsAreWhatChanged(t *testing.T) {
	e := opened(t, nil)
	first, err := e.Snapshot(t.Context())
	if err != nil || len(first) > 300 {
		t.Errorf("%d bytes, %v", len(first), err)
	}
	step(t, e, "lend_book", `{"book":2,"reader":"Bea","days":7}`)
	b, err := e.Snapshot(t.Context())
	if err != nil || len(b) > 1000 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	other := opened(t, map[string]string{"schema.sql": string(library(t, nil)["schema.sql"].Data) + "CREATE TABLE more (x);"})
	for name, c := range map[string]struct {
		env *env
		b   string
	}{
		"another world": {other, string(b)},
		"a flipped bit": {e, string(b[:len(b)-20]) + string(b[len(b)-20]^4) + string(b[len(b)-19:])},
		"cut off":       {e, string(b[:len(b)-3])},
		"another task":  {e, strings.Replace(string(b), `"index":0`, `"index":1`, 1)},
		"no such task":  {e, strings.Replace(string(b), `"index":0`, `"index":7`, 1)},
		"negative size": {e, strings.Replace(string(b), `"bytes":`, `"bytes":-`, 1)},
		"far page":      {e, strings.Replace(string(b), `"pages":[`, `"pages":[99999,`, 1)},
	} {
		if err := c.env.Restore(t.Context(), []byte(c.b)); rl.KindOf(err) != rl.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := e.Restore(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if r := step(t, e, "return_book", `{"book":2}`); r.Content != "done" {
		t.Errorf("%+v", r)
	}
}

// Snapshots come from the store, arguments from models.
func FuzzEpisode(f *testing.F) {
	e := opened(f, nil)
	b, err := e.Snapshot(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("find_books", `{"word":"mm"}`, b)
	f.Add("lend_book", `{"book":2,"reader":"Ada","days":7}`, []byte("{}\n"))
	f.Add("final_text", `"Emma"`, []byte{})
	f.Fuzz(func(t *testing.T, tool, arguments string, snapshot []byte) {
		if _, err := e.Reset(t.Context(), e.world.task(rl.Train, 0)); err != nil {
			t.Fatal(err)
		}
		step(t, e, tool, arguments)
		if err := e.Restore(t.Context(), snapshot); err != nil && rl.KindOf(err) != rl.Corrupt {
			t.Error(err)
		}
	})
}
