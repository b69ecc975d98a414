package code

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// mostResults bounds what the tests of a task may give back, in bytes.
const mostResults = 1 << 20

// grade calls the function of a problem with every test's arguments, in a sandbox of its own, and says how many results
// are right. What is right is not in the sandbox: the results come out and are compared here. So a program that wants a
// result to count must have it.
func grade(ctx context.Context, box sandbox, t tree, p problem, seed uint64) (passed int, why string, err error) {
	mark := fmt.Sprintf("\x1e%016x ", seed)
	args := make([]json.RawMessage, len(p.Tests))
	for i, one := range p.Tests {
		args[i] = one.Args
	}
	source := fmt.Sprintf(harness, rl.CanonicalJSON(mark), rl.CanonicalJSON(string(rl.CanonicalJSON(args))), p.Module, p.Function)
	o, err := box.run(ctx, t, program{language: python, source: source, seed: seed, most: mostResults})
	if err != nil {
		return 0, "", err
	}
	results := results(o.output, mark)
	for i, one := range p.Tests {
		if got, ok := results[i]; ok && same(got, one.Want) {
			passed++
		} else if why == "" {
			why = fmt.Sprintf("test %d of %d failed", i+1, len(p.Tests))
		}
	}
	if o.stopped != "" && passed < len(p.Tests) {
		why += ": " + o.stopped
	}
	return passed, why, nil
}

// harness runs in Python 3 and in MicroPython. Each result is a line of its own, behind the mark and the test's number.
const harness = `import json
mark = %s
for i, args in enumerate(json.loads(%s)):
    try:
        from %s import %s as f
        r = json.dumps(f(*args))
    except BaseException as e:
        continue
    print("\n" + mark + str(i) + " " + r)
`

// results are those in an output, by test; of two for one test neither counts.
func results(output, mark string) map[int]json.RawMessage {
	out, twice := map[int]json.RawMessage{}, map[int]bool{}
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(line, mark)
		number, result, spaced := strings.Cut(rest, " ")
		var i int
		if _, err := fmt.Sscanf(number, "%d", &i); !ok || !spaced || err != nil {
			continue
		}
		if _, known := out[i]; known {
			twice[i] = true
		}
		out[i] = json.RawMessage(strings.TrimSpace(result))
	}
	for i := range twice {
		delete(out, i)
	}
	return out
}

// same reports whether two JSON values are equal: numbers by value, objects whatever the order of their keys.
func same(a, b json.RawMessage) bool {
	x, err1 := decoded(a)
	y, err2 := decoded(b)
	return err1 == nil && err2 == nil && equal(x, y)
}

func decoded(raw json.RawMessage) (v any, err error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		if !ok || x == y {
			return ok
		}
		if !strings.ContainsAny(string(x)+string(y), ".eE") {
			return false // two integers that are written differently, -0 apart
		}
		f, err1 := x.Float64()
		g, err2 := y.Float64()
		return err1 == nil && err2 == nil && f == g
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			if other, known := y[k]; !known || !equal(x[k], other) {
				return false
			}
		}
		return true
	}
	return a == b
}
