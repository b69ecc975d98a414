package reward

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// FuzzVerdicts: what is read of any reply has exactly the ids, scores from 0 to 1, and each score is the very number that stands
// with its id in some object of the reply.
func FuzzVerdicts(f *testing.F) {
	const good = `{"scores":[{"id":"B2","reason":"x","score":0.5},{"id":"C3","score":1e0}]}`
	for _, seed := range []string{
		good, "```json\n" + good + "\n```", "<think>{</think>" + good, good + good, `{"scores":[{"id":"B2","score":"1"},{"id":"C3","score":null}]}`,
		`{"scores":[{"id":"B2","score":0,"score":1},{"id":"C3","score":-0}]}`, `{"scores":[{"id":"B2","reason":"` + strings.ReplaceAll(good, `"`, `\"`) + `","score":1}]}`,
		`{"\u0073cores":[{"\u0069d":"\u00422","score":1},{"id":"C3","score":2}]}`, strings.Repeat("{", 200), `{"scores":[{"id":"B2","score":1e999}]}`, "",
		`{"scores":[{"id":"B2","score":1,"turns":[0,1]},{"id":"C3","score":1,"turns":[0.5]}]}`,
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	ids, turns := []string{"C3", "B2"}, map[string]int{"B2": 2, "C3": 1}
	f.Fuzz(func(t *testing.T, reply string, perTurn bool) {
		asked := map[string]int(nil)
		if perTurn {
			asked = turns
		}
		found, err := verdicts(reply, ids, asked)
		if err != nil {
			if found != nil || err.Error() == "" {
				t.Fatalf("%+v beside the error %q", found, err)
			}
			return
		}
		if len(found) != len(ids) {
			t.Fatalf("%d verdicts", len(found))
		}
		for _, id := range ids {
			v, ok := found[id]
			if !ok || !(v.score >= 0 && v.score <= 1) || len(v.reason) > maxReason+len("...") || perTurn && len(v.turns) != turns[id] {
				t.Fatalf("%s: %+v", id, v)
			}
			if !standsWith(reply, id, v.score) {
				t.Fatalf("%s has no score %v in %q", id, v.score, reply)
			}
		}
	})
}

// standsWith reports whether a text holds an object with this id and this score. It reads the text in its own way: from every brace.
func standsWith(text, id string, score float64) bool {
	for i := range len(text) {
		if text[i] != '{' {
			continue
		}
		var entry map[string]any
		d := json.NewDecoder(strings.NewReader(text[i:]))
		if d.Decode(&entry) == nil && entry["id"] == id && entry["score"] == score {
			return true
		}
	}
	return false
}

// FuzzRendered: whatever an agent and its tools write, the prompt holds as many attempts as there are, and the lines of each have the marks
// of what was really done, in its order.
func FuzzRendered(f *testing.F) {
	for _, text := range hostile("0123456789a") {
		f.Add(text, "ok\n< x")
	}
	f.Fuzz(func(t *testing.T, text, result string) {
		if text == "" || result == "" {
			return // an action without words has no line for them
		}
		one, other := attack(text), attack(result)
		c := judged(nil)
		g := groupOf(one, other)
		b := briefOf(c, g, []int{0, 1}, c.ResultChars)
		order := []int{0, 1}[:len(b.attempts)]
		ids := []string{"B2", "C3"}[:len(b.attempts)]
		all := shownIn(Question{Messages: b.messages(c, order, ids)})
		if len(all) != len(order) {
			t.Fatalf("%d attempts", len(all))
		}
		for i, a := range all {
			if wrong := forges(a.text, attackMarks); wrong != "" || a.id != ids[i] {
				t.Fatalf("%s: %s in\n%s", a.id, wrong, a.text)
			}
		}
		r := renderer{turns: true}
		for _, x := range []*rl.Trajectory{one, other} {
			lines := strings.Split(r.messages(x.Messages(), 0), "\n")
			numbered := slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, callMark) && !strings.HasPrefix(l, agentMark) })
			for i, want := range []string{". (turn 0) ", ". (turn 1) ", "> (turn 1) ", "> (turn 1) ", "> (turn 1) "} {
				if !strings.HasPrefix(numbered[i], want) {
					t.Fatalf("action %d is %q, want %q", i, numbered[i], want)
				}
			}
		}
	})
}
