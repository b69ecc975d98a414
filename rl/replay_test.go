package rl

import (
	"strings"
	"testing"
)

func saidTurn(heard, said string) Turn {
	return Turn{Observation: Observation{Messages: []Message{{Role: ToolRole, Content: heard, ToolCallID: heard + said}}},
		Action: Action{Message: Message{Role: Assistant, ToolCalls: []ToolCall{{ID: heard, Name: said}}}}}
}

func TestParts(t *testing.T) {
	closing := func(s string) *Observation { o := saidTurn(s, "").Observation; return &o }
	a, b := saidTurn("q", "look"), saidTurn("x", "take")
	renamed := saidTurn("q", "look")
	renamed.Action.Message.ToolCalls[0].ID = "another"
	for name, c := range map[string]struct {
		was, is       []Turn
		wasEnd, isEnd *Observation
		want          string
	}{
		"the same":              {[]Turn{a, b}, []Turn{a, b}, closing("e"), closing("e"), ""},
		"ids are no difference": {[]Turn{a, b}, []Turn{renamed, b}, nil, nil, ""},
		"action":                {[]Turn{a, b}, []Turn{a, saidTurn("x", "drop")}, nil, nil, "1 action"},
		"observation":           {[]Turn{a, b}, []Turn{a, saidTurn("y", "take")}, nil, nil, "1 observation"},
		"what came of it":       {[]Turn{a, b}, []Turn{a, b}, closing("e"), closing("f"), "2 observation"},
		"shorter, so far alike": {[]Turn{a, b}, []Turn{a}, closing("e"), nil, ""},
		"shorter, and its end":  {[]Turn{a, b}, []Turn{a}, closing("e"), closing("z"), "1 observation"},
		"longer":                {[]Turn{a}, []Turn{a, b}, closing("x"), nil, ""},
		"nothing":               {nil, nil, nil, nil, ""},
	} {
		got := ""
		if d := Parts(c.was, c.is, c.wasEnd, c.isEnd); d != nil {
			got = strings.TrimSpace(strings.Join([]string{string(rune('0' + d.Turn)), d.What}, " "))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if d := Diverged(0, "observation", strings.Repeat("é", 2000), "x"); len(d.Was) > 520 || !strings.HasSuffix(d.Was, " ...") {
		t.Errorf("%d bytes", len(d.Was))
	}
}
