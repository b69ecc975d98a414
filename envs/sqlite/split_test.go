package sqlite

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"", ""},
		{" ; -- nothing\n;/* at all */", ""},
		{"SELECT 1", "1 SELECT 1"},
		{"SELECT :a, :b_2 , :a;\n\n-- then\nSELECT ';', \";\", `;`, [;], 'it''s' -- ; \n FROM t;", "1 SELECT :a, :b_2 , :a; (a b_2)|4 SELECT ';', \";\", `;`, [;], 'it''s'   FROM t;"},
		{"CREATE TRIGGER x AFTER INSERT ON t BEGIN\n  UPDATE t SET a = CASE WHEN a THEN 1 ELSE 2 END;\n  SELECT 1;\nEND;\nSELECT 2;",
			"1 CREATE TRIGGER x AFTER INSERT ON t BEGIN\n  UPDATE t SET a = CASE WHEN a THEN 1 ELSE 2 END;\n  SELECT 1;\nEND;|5 SELECT 2;"},
		{"create temp trigger x after insert on t begin select 1; end", "1 create temp trigger x after insert on t begin select 1; end"},
		{"SELECT 'é' AS \"größe\"", "1 SELECT 'é' AS \"größe\""},
		{"SELECT 1;\nSELECT 'a", "error f:2: a quote that does not end"},
		{"/* a", "error f:1: a comment that does not end"},
		{"SELECT\n?1", "error f:2: '?': parameters are written :name"},
		{"SELECT @a", "error f:1: '@': parameters are written :name"},
		{"SELECT : a", "error f:1: a : without the name of a parameter"},
	} {
		if got := pieces(split("f", c.sql, 1)); got != c.want {
			t.Errorf("%q:\n%q, not\n%q", c.sql, got, c.want)
		}
	}
}

func pieces(statements []statement, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	var all []string
	for _, s := range statements {
		one := fmt.Sprintf("%d %s", s.line, s.sql)
		if len(s.parameters) > 0 {
			one += fmt.Sprintf(" (%s)", strings.Join(s.parameters, " "))
		}
		all = append(all, one)
	}
	return strings.Join(all, "|")
}

// Whatever is cut, nothing but comments and space is lost, and a piece is cut no further.
func FuzzSplit(f *testing.F) {
	for _, sql := range []string{"SELECT 1;SELECT 2", "CREATE TRIGGER x BEGIN SELECT 1; END; SELECT :a", "';' --", "/*", "[", "a;;b", "create trigger;end;"} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		statements, err := split("f", sql, 1)
		if err != nil {
			return
		}
		for _, s := range statements {
			again, err := split("f", s.sql, 1)
			if err != nil || len(again) != 1 || again[0].sql != s.sql {
				t.Errorf("%q is cut to %q, and that to %+v, %v", sql, s.sql, again, err)
			}
		}
	})
}
