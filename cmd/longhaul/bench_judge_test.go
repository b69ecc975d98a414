package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/rl"
)

// A judge is told a group of eight attempts of twenty turns in at most 0.8 of the characters that RULER takes (here 0.43), and what it is
// told is the same from run to run.
func TestJudgesPromptIsShort(t *testing.T) {
	g, err := judgedGroup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, _, err := judgedOnce(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	ours, ruler, naive := promptChars(q), utf8.RuneCountInString(rulerForm(g)), utf8.RuneCountInString(naiveForm(g))
	if ours != 19682 || ruler != 45646 || naive != 47715 {
		t.Errorf("%d characters, RULER %d, JSON %d", ours, ruler, naive)
	}
	if float64(ours) > .8*float64(ruler) {
		t.Errorf("%d of %d", ours, ruler)
	}
}

// Nothing of the evidence is lost: all that was said, called with and answered stands in the prompt, for each attempt between its own
// marks, in its order.
func TestJudgesPromptHasAllOfTheGroup(t *testing.T) {
	g, err := judgedGroup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, _, err := judgedOnce(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	begins := regexp.MustCompile(`(?m)^\[[A-Z0-9]+ [0-9a-f]{11} begins\]\n`)
	attempts := begins.Split(q.Messages[1].Content, -1)
	beginning, attempts := attempts[0], attempts[1:]
	if len(attempts) != len(g.Trajectories) {
		t.Fatalf("%d attempts", len(attempts))
	}
	for _, tool := range g.Tools {
		if !strings.Contains(beginning, tool.Name) || !strings.Contains(beginning, tool.Description) || !strings.Contains(beginning, string(tool.Parameters)) {
			t.Errorf("%s is not in the beginning", tool.Name)
		}
	}
	if missing := missingIn(beginning, g.Trajectories[0].Messages()[:2]); missing != "" {
		t.Errorf("%q is not in the beginning", missing)
	}
	told := map[int]int{}
	for member, x := range g.Trajectories {
		for i, text := range attempts {
			if missingIn(text, x.Messages()[2:]) == "" {
				told[member]++
				attempts[i] = ""
			}
		}
		if told[member] != 1 {
			t.Errorf("attempt %d is told %d times", member, told[member])
		}
	}
}

// missingIn is the first of what was said, called with or answered that a text does not hold in its order.
func missingIn(text string, messages []rl.Message) string {
	for _, m := range messages {
		want := []string{strings.ReplaceAll(m.Content, "\n", "\n  ")}
		for _, c := range m.ToolCalls {
			var arguments map[string]string
			if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
				panic(err)
			}
			want = append(want, c.Name)
			for _, v := range arguments {
				want = append(want, v)
			}
		}
		for _, w := range want {
			_, after, ok := strings.Cut(text, w)
			if !ok {
				return w
			}
			text = after
		}
	}
	return ""
}
