package envs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

// desk opens an episode of a given order. It is never busy unless a seed is given.
func desk(o order) *orders {
	o.calm = o.seed == 0
	return &orders{order: o, open: true}
}

func say(t *testing.T, o *orders, tool, argument string) string {
	t.Helper()
	r, err := o.Step(t.Context(), Call{ToolCall: ordersCall(0, tool, argument).ToolCalls[0]})
	if err != nil || r.Done != (tool == "answer") {
		t.Fatalf("%s %s: %+v, %v", tool, argument, r, err)
	}
	return r.Content
}

func TestOrdersSayWhatTheyAlwaysSaid(t *testing.T) {
	o := desk(order{number: "48", boxes: []string{"C7", "D2"}, place: "Oslo 7", fragile: true})
	for _, c := range [][3]string{
		{"find_order", "48", "48 in box C7, fragile"}, {"find_order", "49", "none"},
		{"track_box", "C7", "C7 in box D2"}, {"track_box", "D2", "D2 at Oslo 7"}, {"track_box", "A0", "none"},
		{"inspect", "C7", "C7 empty"}, {"inspect", "D2", "D2 intact"}, {"inspect", "48", "none"},
		{"answer", " Oslo 7 ", ""},
	} {
		if got := say(t, o, c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %q, not %q", c[0], c[1], got, c[2])
		}
	}
	if got := say(t, desk(order{number: "07", boxes: []string{"C7"}, place: "Rome 1"}), "find_order", "07"); got != "07 in box C7" {
		t.Errorf("%q", got)
	}
	r, err := o.Step(t.Context(), Call{ToolCall: rl.ToolCall{Name: "find_order", Arguments: json.RawMessage(`{"order":48}`)}})
	if r.Content != "closed" || !r.Done || err != nil {
		t.Errorf("after the answer: %+v, %v", r, err)
	}
}

func TestOrdersPayForTheRuleNobodyTold(t *testing.T) {
	for _, c := range []struct {
		fragile bool
		calls   [][2]string
		want    float64
	}{
		{false, [][2]string{{"answer", "Oslo 7"}}, 1},
		{false, [][2]string{{"answer", "Oslo 8"}}, 0},
		{true, [][2]string{{"answer", "Oslo 7"}}, 0},
		{true, [][2]string{{"inspect", "D2"}, {"answer", "Oslo 7"}}, 1},
		{true, [][2]string{{"inspect", "C7"}, {"answer", "Oslo 7"}}, 0},
		{true, [][2]string{{"inspect", "D2"}, {"track_box", "C7"}, {"answer", "Oslo 7"}}, 1},
		{true, [][2]string{{"inspect", "D2"}, {"answer", "Oslo 8"}}, 0},
		{true, [][2]string{{"inspect", "D2"}}, 0},
	} {
		o := desk(order{number: "48", boxes: []string{"C7", "D2"}, place: "Oslo 7", fragile: c.fragile})
		for _, call := range c.calls {
			say(t, o, call[0], call[1])
		}
		if s, err := o.Score(t.Context()); err != nil || s.Value != c.want || s.Reason == "" {
			t.Errorf("fragile %v, %v: %+v, %v", c.fragile, c.calls, s, err)
		}
	}
	told := ordersSpec.System + string(rl.CanonicalJSON(ordersSpec.Tools))
	for _, hint := range []string{"inspect", "last box"} {
		if strings.Contains(ordersSpec.System, hint) {
			t.Errorf("the system message hints at the rule: %q", hint)
		}
	}
	if strings.Contains(told, "before") {
		t.Error("a tool's description hints at the rule")
	}
}

// All members of a group meet the same desk: whether a call finds it busy depends on the call's number alone.
func TestOrdersAreBusyByTaskAndNumber(t *testing.T) {
	busy, calls := 0, 0
	for i := range 200 {
		a, b := desk(orderOf(rl.Train, i)), desk(orderOf(rl.Train, i))
		for n := range 10 {
			x, y := say(t, a, "find_order", "00") == "busy", say(t, b, "inspect", fmt.Sprint(n)) == "busy"
			if x != y {
				t.Fatalf("%d: call %d is busy for one only", i, n)
			}
			if calls++; x {
				busy++
			}
		}
	}
	if share := float64(busy) / float64(calls); share < .13 || share > .17 {
		t.Errorf("%.3f of calls are busy", share)
	}
}

// Tasks never change: results of different days, machines and Go releases are about the same orders.
func TestOrdersAreDrawnForGood(t *testing.T) {
	for split, want := range map[rl.Split]string{
		rl.Train:  "29 > Cork 1, 29 > L2, L2 > Cork 1; fragile false; b..bb.b.........b..b",
		rl.Eval:   "00 > Rome 3, 00 > L6, L6 > Rome 3; fragile true; ...b...b............",
		rl.WarmUp: "08 > Bonn 9, 08 > J8, J8 > Bonn 9; fragile false; ....................",
	} {
		o, calls := orderOf(split, 0), ""
		for call := range 20 {
			calls += map[bool]string{true: "b", false: "."}[o.busy(call+1)]
		}
		if got := fmt.Sprintf("%s; fragile %v; %s", strings.Join(o.facts(), ", "), o.fragile, calls); got != want {
			t.Errorf("%s: %s, not %s", split, got, want)
		}
	}
}

func TestOrdersOfASplit(t *testing.T) {
	for split, want := range map[rl.Split]map[string]float64{
		rl.Train: {"fragile": .6, "chain": .4 * 2 / 3, "one_hop": .4 / 3}, rl.Eval: {"fragile": .6, "chain": .4 * 2 / 3, "one_hop": .4 / 3}, rl.WarmUp: {"one_hop": 1},
	} {
		got := map[string]float64{}
		for i := range 4000 {
			got[ordersTask(split, i).Kind] += 1. / 4000
		}
		for kind, share := range want {
			if got[kind] < share-.03 || got[kind] > share+.03 {
				t.Errorf("%s: %.3f are %s, not %.3f", split, got[kind], kind, share)
			}
		}
	}
}

// Whatever the index, an order is made of facts of its own side alone.
func TestOrdersAreMadeOfTheirSide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		split := rapid.SampledFrom([]rl.Split{rl.Train, rl.Eval, rl.WarmUp}).Draw(t, "split")
		o := orderOf(split, rapid.IntRange(0, 1<<40).Draw(t, "index"))
		for _, fact := range o.facts() {
			a, b, _ := strings.Cut(fact, " > ")
			if heldOut(a, b) != (split == rl.Eval) {
				t.Fatalf("%s of a task of %s", fact, split)
			}
		}
		if len(o.facts()) != len(o.boxes)+2 || len(slices.Compact(slices.Sorted(slices.Values(o.boxes)))) != len(o.boxes) {
			t.Fatalf("%+v", o)
		}
	})
}

// Demonstrations show the easy part only, with calls that may be repeated and slips that are not to be copied.
func TestOrdersDemonstrationsAreEasy(t *testing.T) {
	slips, dithers, calls, answered := 0, 0, 0, 0
	for seed := range uint64(2000) {
		d, err := ordersDemonstration(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		var c clerk
		for i, m := range d.Messages {
			if m.Role != rl.Assistant {
				c.read(m)
				for _, hard := range []string{"busy", "fragile", "empty", "bad call"} {
					if m.Role == rl.ToolRole && strings.Contains(m.Content, hard) {
						t.Fatalf("seed %d shows %q", seed, m.Content)
					}
				}
				continue
			}
			calls++
			call := m.ToolCalls[0]
			tool, argument := c.next()
			switch {
			case !d.Imitate[i]:
				slips++
				if i+1 < len(d.Messages) && d.Messages[i+1].Content != "none" {
					t.Fatalf("seed %d: a slip hits: %+v", seed, d.Messages[i+1])
				}
			case string(call.Arguments) != string(ordersCall(0, tool, argument).ToolCalls[0].Arguments) || call.Name != tool:
				dithers++
			}
			if call.Name == "answer" {
				answered++
			}
		}
	}
	// A dither may happen to be the call that leads on, and none is possible before the box is known.
	if s, d, a := float64(slips)/float64(calls), float64(dithers)/float64(calls), float64(answered)/2000; s < .18 || s > .22 || d < .06 || d > .2 || a < .97 {
		t.Errorf("%.3f slips, %.3f dithers, %.3f answered", s, d, a)
	}
}

// Foreign bytes reach the desk as arguments of calls and as snapshots.
func FuzzOrders(f *testing.F) {
	for _, arguments := range []string{`{"order":"48"}`, `{"order":48}`, `{"order":"48","order":"49"}`, `{"box":"C7"}`, `{`, `"48"`, "{\"order\":\"\xff\"}"} {
		f.Add("find_order", arguments, []byte(`{"split":"train","index":3,"calls":2,"inspected":true,"answered":false,"place":""}`))
	}
	f.Add("answer", `{"place":"Oslo 7"}`, []byte(`{"split":"eval"}`))
	f.Fuzz(func(t *testing.T, tool, arguments string, snapshot []byte) {
		env := &orders{}
		if _, err := env.Reset(t.Context(), ordersTask(rl.Train, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := env.Step(t.Context(), Call{ToolCall: rl.ToolCall{Name: tool, Arguments: json.RawMessage(arguments)}}); err != nil {
			t.Errorf("%s(%q): %v", tool, arguments, err)
		}
		if err := env.Restore(t.Context(), snapshot); err == nil {
			again, err := env.Snapshot(t.Context())
			if err != nil || env.Restore(t.Context(), again) != nil {
				t.Errorf("a restored episode has no snapshot: %v", err)
			}
		} else if rl.KindOf(err) != rl.Corrupt {
			t.Error(err)
		}
	})
}
