package sqlite

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// library is the world in testdata, with some files replaced; one that is replaced by nothing is not there.
func library(t testing.TB, replaced map[string]string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, pattern := range []string{"*.*", "tools/*.sql"} {
		names, err := filepath.Glob(filepath.Join("testdata/library", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel("testdata/library", name)
			files[rel] = &fstest.MapFile{Data: b}
		}
	}
	for name, text := range replaced {
		if delete(files, name); text != "" {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return files
}

const (
	taskHead = `{"split": "train", "goal": "g", "checks": [{"why": "w", "sql": "SELECT 0"}]`
	evalTask = "\n" + `{"split": "eval", "goal": "held", "checks": [{"why": "w", "sql": "SELECT 0"}]}`
	toolHead = "-- Says.\n-- effect: pure\n"
)

// Every fault of a world's files is told with the file and the line.
func TestFaultsAreTold(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"schema.sql", "", "open schema.sql: file does not exist"},
		{"schema.sql", "CREATE TABLE a (x);\nCREATE TABLE b (y,;", `schema.sql:2: SQL logic error: near ";": syntax error (1)`},
		{"schema.sql", "CREATE TABLE a (\n  day DATE\n);", "schema.sql: a.day: SQLite has no type for times: declare it TEXT"},
		{"schema.sql", "CREATE TABLE a (x DEFAULT CURRENT_TIMESTAMP);", "schema.sql:1: current_timestamp is not the same at every time: the same calls must give the same, also after a restart"},
		{"schema.sql", "CREATE TABLE a (x);\nDROP TABLE a;", "schema.sql:2: DROP: expected a statement that begins with CREATE, INSERT"},
		{"schema.sql", "INSERT INTO a VALUES (:x)", "schema.sql:1: a parameter: only tools have them"},
		{"tools/find_books.sql", "SELECT 1;", "tools/find_books.sql:1: it must begin with a comment, which is what the agent is told of the tool"},
		{"tools/find_books.sql", "-- Says.\nSELECT 1;", "tools/find_books.sql:1: its header has no effect: pure or episode_local"},
		{"tools/find_books.sql", "-- Says.\n-- effect: external_once\nSELECT 1;", `tools/find_books.sql:2: effect: "external_once": expected pure or episode_local, since SQL here reaches nothing outside the episode`},
		{"tools/find_books.sql", toolHead + "-- none:\nSELECT 1;", "tools/find_books.sql:3: none: expected words: a call never gives nothing"},
		{"tools/find_books.sql", toolHead + "-- capp: 7\nSELECT 1;", `tools/find_books.sql:3: "capp: 7" is no key of a header: effect, param NAME, none, cap, timeout or ends, then a colon`},
		{"tools/find_books.sql", toolHead + "-- cap: 0\nSELECT 1;", `tools/find_books.sql:3: cap: "0": expected bytes, from 1 to 1048576`},
		{"tools/find_books.sql", toolHead + "-- cap: 1\n-- cap: 2\nSELECT 1;", `tools/find_books.sql:4: a second "cap"`},
		{"tools/find_books.sql", toolHead + "-- timeout: 2\nSELECT 1;", `tools/find_books.sql:3: timeout: "2": expected a time such as 2s`},
		{"tools/find_books.sql", toolHead + "-- ends: true\nSELECT 1;", `tools/find_books.sql:3: ends: "true": expected yes or no`},
		{"tools/find_books.sql", toolHead + "-- param a: string\nSELECT :a;", `tools/find_books.sql:3: expected "param NAME: {JSON schema}", each name once, such as: -- param order: {"type": "string"}`},
		{"tools/find_books.sql", toolHead + "-- param a: {}\nSELECT 1;", "tools/find_books.sql: no statement uses param a"},
		{"tools/find_books.sql", toolHead + "SELECT 1;\n\nSELECT :a;", "tools/find_books.sql:5: there is no param a in the header"},
		{"tools/find_books.sql", toolHead, "tools/find_books.sql: it has no statement"},
		{"tools/find_books.sql", toolHead + "SELECT absent FROM books;", "tools/find_books.sql:3: SQL logic error: no such column: absent (1)"},
		{"tools/a-b.sql", toolHead + "SELECT 1;", "tools/a-b.sql: a tool is named by letters, digits and _"},
		{"tools/final_text.sql", toolHead + "SELECT 1;", "tools/final_text.sql: it takes one param, text: the message that ends the episode"},
		{"tasks.jsonl", "\n" + taskHead + `, "chekcs": []}` + evalTask, `tasks.jsonl:2: json: unknown field "chekcs"`},
		{"tasks.jsonl", taskHead + "} {}" + evalTask, "tasks.jsonl:1: more than one task in a line"},
		{"tasks.jsonl", `{"split": "test", "goal": "g"}`, `tasks.jsonl:1: split is "test": expected train, eval or warm_up`},
		{"tasks.jsonl", `{"split": "train"}`, "tasks.jsonl:1: it has no goal"},
		{"tasks.jsonl", `{"split": "train", "goal": "g"}`, "tasks.jsonl:1: it has no checks"},
		{"tasks.jsonl", strings.Replace(taskHead, "train", "warm_up", 1) + "}", "tasks.jsonl:1: a warm_up task is shown by its reference, and it has none"},
		{"tasks.jsonl", taskHead + `, "vary": ["g"]}`, "tasks.jsonl:1: only a warm_up task can vary: any other is the same each time"},
		{"tasks.jsonl", taskHead + `, "facts": ["f"]}` + strings.Replace(evalTask, `"goal"`, `"facts": ["f"], "goal"`, 1), `tasks.jsonl:1: "f" is a fact of the eval task of line 2, too: what is evaluated must not be met in training`},
		{"tasks.jsonl", taskHead + `, "seed": {"nothing": [{"a": 1}]}}` + evalTask, "tasks.jsonl:1: seed row of nothing: SQL logic error: no such table: nothing (1)"},
		{"tasks.jsonl", taskHead + `, "seed": {"books": {"a": 1}}}` + evalTask, "tasks.jsonl:1: seed: books: expected a list of rows, each an object: json: cannot unmarshal object into Go value of type []map[string]json.RawMessage"},
		{"tasks.jsonl", taskHead + `, "seed": {"books": [{"id": 1e999}]}}` + evalTask, "tasks.jsonl:1: seed: books.id: 1e999 is no number that can be kept"},
		{"tasks.jsonl", strings.Replace(taskHead, "SELECT 0", "DELETE FROM books", 1) + "}" + evalTask, `tasks.jsonl:1: check "w": DELETE: expected a statement that begins with SELECT, VALUES, WITH`},
		{"tasks.jsonl", strings.Replace(taskHead, "SELECT 0", "SELECT 1, 2", 1) + "}" + evalTask, `tasks.jsonl:1: check "w": expected a SELECT of one column`},
		{"tasks.jsonl", strings.Replace(taskHead, "SELECT 0", "SELECT 1; SELECT 2", 1) + "}" + evalTask, `tasks.jsonl:1: check "w": expected one SELECT without parameters`},
		{"tasks.jsonl", strings.Replace(taskHead, "SELECT 0", "SELECT 1", 1) + "}" + evalTask, "tasks.jsonl:1: its checks hold before anything was done: doing nothing would earn full reward"},
		{"tasks.jsonl", strings.Replace(taskHead, `"w"`, `""`, 1) + "}" + evalTask, `tasks.jsonl:1: check "": it needs a why: what is wrong when it does not hold`},
		{"tasks.jsonl", taskHead + `, "reference": [{"tool": "sell_book", "arguments": {}}]}` + evalTask, `tasks.jsonl:1: reference: call 1: there is no tool "sell_book"`},
		{"tasks.jsonl", taskHead + `, "reference": [{"tool": "return_book", "arguments": {"book": "2"}}]}` + evalTask, `tasks.jsonl:1: reference: call 1: "book" of return_book must be integer, not string`},
	} {
		if _, err := read(t.Context(), "library", library(t, map[string]string{c.file: c.text})); err == nil || err.Error() != c.want {
			t.Errorf("%s: %q:\n%v, not\n%s", c.file, c.text, err, c.want)
		}
	}
}

// A tool's SQL reaches no file, no other database, no clock and no chance, and a pure one writes nothing, however it is put.
func TestHarmIsRefused(t *testing.T) {
	for _, c := range []struct{ effect, sql, want string }{
		{"episode_local", "ATTACH 'x.db' AS x", "ATTACH: expected"},
		{"episode_local", "VACUUM INTO 'x.db'", "VACUUM: expected"},
		{"episode_local", "PRAGMA max_page_count = 100000000", "PRAGMA: expected"},
		{"episode_local", "PRAGMA query_only = off", "PRAGMA: expected"},
		{"episode_local", "DROP TABLE books", "DROP: expected"},
		{"episode_local", "CREATE TABLE x (y)", "CREATE: expected"},
		{"episode_local", "COMMIT", "COMMIT: expected"},
		{"episode_local", "ROLLBACK", "ROLLBACK: expected"},
		{"episode_local", "DETACH main", "DETACH: expected"},
		{"pure", "SELECT load_extension('x')", "load_extension runs code"},
		{"pure", "SELECT readfile('/etc/passwd')", "no such function: readfile"},
		{"pure", "SELECT writefile('x', 'y')", "no such function: writefile"},
		{"pure", "SELECT random()", "random is not the same at every time"},
		{"pure", "SELECT id FROM books ORDER BY Random()", "random is not the same at every time"},
		{"pure", "SELECT date( )", "date without a time is the clock"},
		{"pure", "SELECT date('NOW', '-1 day')", "'now' is not the same at every time"},
		{"pure", "SELECT strftime('%Y')", "strftime without a time is the clock"},
		{"pure", "SELECT current_date", "current_date is not the same at every time"},
		{"pure", "SELECT \"Random\"()", "random is not the same at every time"},
		{"pure", "SELECT [date] ()", "date without a time is the clock"},
		{"pure", "SELECT `date`()", "date without a time is the clock"},
		{"pure", "SELECT \"load_extension\"('x')", "load_extension runs code"},
		{"pure", "SELECT date('2026-03-15', 'localtime')", "'localtime' is not the same at every time"},
		{"pure", "SELECT datetime('2026-03-15', \"UTC\")", `"utc" is not the same at every time`},
		{"episode_local", "INSERT OR IGNORE INTO said VALUES ('a'); SELECT last_insert_rowid()", "last_insert_rowid() tells of what came before the call"},
		{"episode_local", "SELECT \"changes\" ( )", "changes() tells of what came before the call"},
		{"pure", "SELECT total_changes()", "total_changes() tells of what came before the call"},
		{"pure", "DELETE FROM books", "DELETE: expected"},
		{"pure", "WITH x AS (SELECT 1) DELETE FROM books", "it writes, and the tool's effect is pure"},
		{"pure", "WITH x AS (SELECT 1) INSERT INTO said SELECT 'a' RETURNING text", "it writes, and the tool's effect is pure"},
		{"pure", "SELECT 1; WITH x AS (SELECT 1) UPDATE books SET title = ''", "it writes, and the tool's effect is pure"},
	} {
		text := "-- Harms.\n-- effect: " + c.effect + "\n" + c.sql + ";"
		if _, err := read(t.Context(), "library", library(t, map[string]string{"tools/harm.sql": text})); err == nil || !strings.Contains(err.Error(), "tools/harm.sql:3: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", c.sql, err, c.want)
		}
	}
	for _, sql := range []string{"SELECT date('2026-03-15', '+1 day')", "SELECT strftime('%Y', :day)", "SELECT 'random', \"date\" FROM (SELECT 1 AS \"date\")", "VALUES (1), (2)", "WITH changes (what) AS (SELECT 1) SELECT what FROM changes"} {
		text := "-- Is right.\n-- effect: pure\n-- param day?: {}\nSELECT :day;\n" + sql
		if _, err := read(t.Context(), "library", library(t, map[string]string{"tools/right.sql": text})); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// The digest is of what the files say, and of all of them.
func TestTheDigestIsOfAllFiles(t *testing.T) {
	seen := map[string]string{}
	for _, replaced := range []map[string]string{nil, {"system.md": "You are a librarian."}, {"tools/more.sql": toolHead + "SELECT 1;"}, {"tools/more.sql": toolHead + "SELECT 2;"}, {"notes.txt": "x"}} {
		w, err := read(t.Context(), "library", library(t, replaced))
		if err != nil {
			t.Fatal(err)
		}
		for file := range replaced {
			if other, twice := seen[w.digest]; twice != (file == "notes.txt") {
				t.Errorf("%s: as with %q: %v", file, other, twice)
			}
		}
		seen[w.digest] = "some"
	}
}

// A world without tasks to evaluate with is one to train on.
func TestTasksToTrainOn(t *testing.T) {
	w, err := read(t.Context(), "library", library(t, map[string]string{"tasks.jsonl": taskHead + "}"}))
	if err != nil || len(w.tasks[rl.Train]) != 1 {
		t.Errorf("%+v, %v", w, err)
	}
}

// A pipe would be waited for.
func TestAWorldIsOfRegularFiles(t *testing.T) {
	files := library(t, nil)
	files["tools/pipe.sql"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	if _, err := read(t.Context(), "library", files); err == nil || err.Error() != "tools/pipe.sql: it is no regular file" {
		t.Error(err)
	}
}

func TestOpenNamesTheKey(t *testing.T) {
	for dir, want := range map[string]string{"": "env.sqlite.dir: no directory is named", "nowhere": "env.sqlite.dir: nowhere: open schema.sql: no such file or directory"} {
		_, err := envs.Open(t.Context(), rl.EnvConfig{Use: "sqlite", SQLite: rl.SQLiteConfig{Dir: dir}})
		if rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

// SQL that goes on for ever holds nobody up for ever.
func TestAWorldIsOpenedInTime(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 2 * time.Second // what ends by itself ends in it
	const numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x < 0"
	for _, c := range []struct{ file, text, want string }{
		{"schema.sql", "CREATE TABLE a (x);\nINSERT INTO a " + numbers + ";", "schema.sql:2: it takes longer than 2s"},
		{"tasks.jsonl", `{"split": "train", "goal": "g", "checks": [{"why": "w", "sql": "` + numbers + `"}]}` + evalTask, "tasks.jsonl:1: it takes longer than 2s"},
	} {
		if _, err := read(t.Context(), "library", library(t, map[string]string{c.file: c.text})); err == nil || err.Error() != c.want {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
}
