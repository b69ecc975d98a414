package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// value is a JSON value for SQL: text, a whole number, a number, 0 or 1 for a truth value, NULL; arrays and objects as their
// JSON.
func value(raw json.RawMessage) (any, error) {
	text := strings.TrimSpace(string(raw))
	switch {
	case text == "" || text == "null":
		return nil, nil
	case text == "true":
		return int64(1), nil
	case text == "false":
		return int64(0), nil
	case text[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		if err == nil && strings.Contains(s, "\x00") {
			err = errors.New("a text with a NUL in it is one thing to some of SQLite, and another to the rest")
		}
		return s, err
	case text[0] == '{' || text[0] == '[':
		return text, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%.40s is no number that can be kept", text)
	case f == math.Trunc(f) && !strings.ContainsAny(text, ".eE"):
		return nil, fmt.Errorf("%.40s has more digits than a whole number can keep", text)
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return int64(f), nil // 7.0 is a whole number, to JSON schema as well
	}
	return f, nil
}

// shown is a row as the policy sees it.
func shown(columns []string, row []any) string {
	if len(row) == 1 {
		if s, ok := row[0].(string); ok && s != "" {
			return s
		}
		return string(rl.CanonicalJSON(plain(row[0])))
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range row {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(rl.CanonicalJSON(columns[i]))
		b.WriteByte(':')
		b.Write(rl.CanonicalJSON(plain(v)))
	}
	b.WriteByte('}')
	return b.String()
}

// plain is a value that JSON has: bytes as SQL writes them, an infinite number as its name.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return fmt.Sprintf("x'%x'", v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return v
}

// truth is what a check gave: no row is not true.
func truth(rows [][]any) (bool, error) {
	if len(rows) == 0 {
		return false, nil
	}
	if len(rows) > 1 {
		return false, errors.New("it gives more than one row")
	}
	switch v := rows[0][0].(type) {
	case nil:
		return false, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	}
	return false, fmt.Errorf("it must give a number, 0 or 1, not %v", rows[0][0])
}
