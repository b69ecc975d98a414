package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"github.com/longhaul-rl/longhaul/envs"
)

// may is what the statements of a file may be, by their first word.
var may = struct{ schema, pure, local []string }{
	schema: []string{"create", "insert"},
	pure:   []string{"select", "values", "with"},
	local:  []string{"select", "values", "with", "insert", "replace", "update", "delete"},
}

// unsteady are words that make the same call give something else at another time, elsewhere or after a restart.
var unsteady = []string{"random", "randomblob", "current_time", "current_date", "current_timestamp", "temp", "temporary",
	"'now'", `"now"`, "'localtime'", `"localtime"`, "'utc'", `"utc"`}

// connected are functions of no argument that tell of the connection: what came before the call, and in no snapshot.
var connected = []string{"changes", "total_changes", "last_insert_rowid"}

// clocks read the time when they are given none.
var clocks = []string{"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"}

// allowed says what is wrong with a statement by its words alone, or nothing.
func (s statement) allowed(first []string) string {
	if !slices.Contains(first, s.words[0]) {
		return fmt.Sprintf("%s: expected a statement that begins with %s", strings.ToUpper(s.words[0]), strings.ToUpper(strings.Join(first, ", ")))
	}
	for i, w := range s.words {
		function, given := s.function(i)
		switch {
		case w == "load_extension" || function == "load_extension":
			return "load_extension runs code that is none of the world's"
		case slices.Contains(unsteady, w) || slices.Contains(unsteady, function):
			return fmt.Sprintf("%s is not the same at every time: the same calls must give the same, also after a restart", cmp.Or(function, w))
		case slices.Contains(connected, function) && given == 0:
			return fmt.Sprintf("%s() tells of what came before the call: the same calls must give the same, also after a restart; RETURNING says what a statement did", function)
		case slices.Contains(clocks, function) && given < needed(function):
			return function + " without a time is the clock: the same calls must give the same, also after a restart"
		}
	}
	return ""
}

// timely reports whether a statement has a function of time.
func (s statement) timely() bool {
	for i := range s.words {
		if function, _ := s.function(i); slices.Contains(clocks, function) {
			return true
		}
	}
	return false
}

// needed is how many arguments a function of time takes before it does not read the clock.
func needed(function string) int {
	if function == "strftime" {
		return 2 // its form, and a time
	}
	return 1
}

// function is the name of the function that word i is, without quotes, and how many arguments it is given; empty when no ( follows.
func (s statement) function(i int) (name string, arguments int) {
	if i+1 >= len(s.words) || s.words[i+1] != "(" {
		return "", 0
	}
	name = strings.Trim(s.words[i], "\"`[]")
	deep := 0
	for _, w := range s.words[i+1:] {
		switch {
		case w == "(":
			deep++
		case w == ")":
			if deep--; deep == 0 {
				return name, arguments
			}
		case w == "," && deep == 1:
			arguments++
		}
		if arguments == 0 && w != "(" {
			arguments = 1
		}
	}
	return name, arguments
}

// columned is what the driver's connection knows of a statement.
type columned interface {
	ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
}

// compile lets SQLite read a tool's statements against the schema. The error names the line.
func (t *tool) compile(ctx context.Context, at string, d *database) error {
	if len(t.statements) == 0 {
		return fmt.Errorf("%s: it has no statement", at)
	}
	first := may.local
	if t.Effect == envs.Pure {
		first = may.pure
	}
	used := map[string]bool{}
	for i := range t.statements {
		s := &t.statements[i]
		where := fmt.Sprintf("%s:%d", at, s.line)
		if wrong := s.allowed(first); wrong != "" {
			return fmt.Errorf("%s: %s", where, wrong)
		}
		for _, p := range s.parameters {
			if used[p] = true; !slices.Contains(t.parameters, p) {
				return fmt.Errorf("%s: there is no param %s in the header", where, p)
			}
		}
		columns, writes, err := d.explain(ctx, s.sql, s.parameters...)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if s.rows = columns > 0; writes && t.Effect == envs.Pure {
			return fmt.Errorf("%s: it writes, and the tool's effect is pure: say episode_local", where)
		}
	}
	for _, p := range t.parameters {
		if !used[p] {
			return fmt.Errorf("%s: no statement uses param %s", at, p)
		}
	}
	return nil
}

// explain is how many columns a statement gives, and whether it writes: the program that SQLite made of it begins a transaction
// that does.
func (d *database) explain(ctx context.Context, query string, parameters ...string) (columns int, writes bool, err error) {
	err = d.conn.Raw(func(c any) error {
		info, err := c.(columned).ColumnInfo(query)
		columns = len(info)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	unset := make([]any, len(parameters))
	for i, p := range parameters {
		unset[i] = sql.Named(p, nil)
	}
	_, program, err := d.rows(ctx, "EXPLAIN "+query, unset...)
	for _, op := range program { // addr, opcode, p1, p2 ...
		writes = writes || op[1] == "Transaction" && op[3] != int64(0)
	}
	return columns, writes, err
}
