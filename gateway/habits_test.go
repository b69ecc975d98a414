package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// What the frameworks sent in an episode of script (TestFrameworks -update records it): each request goes on from the
// answer to the one before, and the next prompt from the tokens that were sampled.
func TestHabits(t *testing.T) {
	files, err := filepath.Glob("testdata/habits/*.json")
	if err != nil || len(files) != len(habits) {
		t.Fatalf("%d files of %d habits, %v", len(files), len(habits), err)
	}
	records := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var seen []exchange
			if err := json.Unmarshal(b, &seen); err != nil {
				t.Fatal(err)
			}
			w := play(t, &scripted{script: script}, func(o *rollout.Options) { o.TurnTimeout = time.Minute })
			var passed []rl.Message
			was := answersIn(seen[len(seen)-1].Request)
			renamed := []string{} // the ids of answers, as they are by now
			for i, x := range seen {
				status, answer := w.post(x.Path, strings.NewReplacer(renamed...).Replace(string(x.Request)))
				if status != 200 {
					t.Fatalf("%d %s", status, answer)
				}
				passed = append(passed, through(t, answer))
				if i < len(was) {
					renamed = append(renamed, was[i], answersIn([]byte(answer))[0])
				}
			}
			got := w.ended()
			if len(got.Turns) != len(script) {
				t.Errorf("%d turns", len(got.Turns))
			}
			oneHistory(t, got)
			for i, turn := range got.Turns {
				if is, was := rl.CanonicalJSON(turn.Action.Message), rl.CanonicalJSON(passed[i]); string(is) != string(was) {
					t.Errorf("turn %d: %s is recorded, %s passed through", i, is, was)
				}
			}
			records[name] = string(rl.CanonicalJSON(got))
		})
	}
	for name, record := range records {
		if plain, ok := strings.CutSuffix(name, "_stream"); ok && record != records[plain] {
			t.Errorf("%s has another record than %s:\n%s\n%s", name, plain, record, records[plain])
		}
	}
}

var ids = regexp.MustCompile(`[_-]([0-9a-f]{24})`)

// answersIn are the ids of answers that a text names, in the order in which they are first named.
func answersIn(text []byte) (all []string) {
	for _, found := range ids.FindAllSubmatch(text, -1) {
		if id := string(found[1]); !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// through is the message that an answer told its client, whichever form it had.
func through(t *testing.T, answer string) rl.Message {
	t.Helper()
	m := rl.Message{Role: rl.Assistant}
	add := func(id, name, arguments string) {
		m.ToolCalls = append(m.ToolCalls, rl.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)})
	}
	for line := range strings.SplitSeq(answer, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			data = line
		}
		var a struct {
			Choices []struct{ Message, Delta agentMessage }
			Output  []item
			Type    string
			Item    item
		}
		if json.Unmarshal([]byte(data), &a) != nil {
			continue // an event's name, or [DONE]
		}
		items := a.Output
		if a.Type == "response.output_item.done" {
			items = []item{a.Item}
		}
		for _, c := range a.Choices {
			for _, said := range []agentMessage{c.Message, c.Delta} {
				if said.Content != nil {
					m.Content += *said.Content
				}
				for _, call := range said.ToolCalls {
					add(call.ID, call.Function.Name, call.Function.Arguments)
				}
			}
		}
		for _, it := range items {
			if m.Content += string(it.Content); it.Type == "function_call" {
				add(it.CallID, it.Name, it.Arguments)
			}
		}
	}
	return m
}
