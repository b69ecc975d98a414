package render

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

func tool(name, args string) rl.ToolCall {
	return rl.ToolCall{Name: name, Arguments: json.RawMessage(args)}
}

func turn(seen rl.Message, tokens int, calls ...rl.ToolCall) rl.Turn {
	return rl.Turn{
		Observation: rl.Observation{Messages: []rl.Message{seen}},
		Action:      rl.Action{Message: rl.Message{Role: rl.Assistant, ToolCalls: calls}, Tokens: make([]int32, tokens)},
	}
}

// joined makes each prompt go on with the tokens before it.
func joined(t *rl.Trajectory) *rl.Trajectory {
	var sequence []int32
	for i := range t.Turns {
		t.Turns[i].Action.Kept = len(sequence)
		sequence = rl.Sequence(sequence, t.Turns[i].Action)
	}
	return t
}

func result(text string) rl.Message { return rl.Message{Role: rl.ToolRole, Content: text} }

var ask = rl.Message{Role: rl.User, Content: "where is order 48?"}

func before() *rl.Trajectory {
	return joined(&rl.Trajectory{
		Turns: []rl.Turn{
			turn(ask, 3, tool("find_order", `{"order":"48"}`)),
			turn(result("48 in box C7, fragile"), 4, tool("answer", `{"place": "Oslo 7"}`)),
		},
		Stop: rl.Answered, Outcome: rl.Score{Value: 0, Reason: "the box was not inspected"},
	})
}

func after() *rl.Trajectory {
	return joined(&rl.Trajectory{
		Turns: []rl.Turn{
			turn(ask, 3, tool("find_order", `{"order":"48"}`)),
			turn(result("48 in box C7, fragile"), 3, tool("inspect", `{"box":"C7"}`), tool("track_box", `{"box":"C7"}`)),
			turn(result("C7 intact, as far as one can see from the outside of it"), 4, tool("answer", `{"place":"Oslo 7"}`)),
		},
		Closing: rl.Observation{Messages: []rl.Message{result("")}},
		Stop:    rl.Answered, Outcome: rl.Score{Value: 1},
	})
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTrajectory(t *testing.T) {
	adv := 0.87
	same(t, Trajectory(Episode{Trajectory: before(), Score: &rl.Score{Value: 0.25, Reason: "half right"}, Advantage: &adv}, 60, Style{}), `
user   where is order 48?
   1 > find_order(order="48")
       48 in box C7, fragile
   2 > answer(place="Oslo 7")
stop   answered after 2 turns, 7 tokens
score  0 (the box was not inspected)
reward 0.25 (half right)
adv    +0.8700 on each sampled token
`)
}

// Where turns have advantages of their own, each stands at its turn; where they are alike they are one number. A score that is a sum
// says of what.
func TestAdvantagesByTurn(t *testing.T) {
	mean := 0.1071
	e := Episode{Trajectory: before(), Advantage: &mean, Advantages: []float64{-0.25, 0.375},
		Score: &rl.Score{Value: 0.3, Reason: "half right", Metrics: map[string]float64{"reward_judge": 0.25, "reward_format": 1, "judge_pass_1": 0.5}}}
	same(t, Trajectory(e, 60, Style{}), `
user   where is order 48?
   1 > find_order(order="48")
adv    -0.2500
       48 in box C7, fragile
   2 > answer(place="Oslo 7")
adv    +0.3750
stop   answered after 2 turns, 7 tokens
score  0 (the box was not inspected)
reward 0.3 (half right)
of     format 1, judge 0.25
adv    +0.1071 on average over the sampled tokens; each
       turn's own stands beside it
`)
	alike := 0.5
	e = Episode{Trajectory: before(), Advantage: &alike, Advantages: []float64{.5, .5}}
	if got := Trajectory(e, 60, Style{}); strings.Count(got, "adv") != 1 || !strings.HasSuffix(got, "adv    +0.5000 on each sampled token\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestATurnOfAnotherVersionSaysSo(t *testing.T) {
	e := Episode{Trajectory: before()}
	e.Turns[1].Action.Version = "r@000007"
	if got := Trajectory(e, 80, Style{}); strings.Count(got, "r@000007") != 1 {
		t.Error(got)
	}
}

func TestTrajectoryOddities(t *testing.T) {
	e := &rl.Trajectory{
		Turns: []rl.Turn{
			{Observation: rl.Observation{Messages: []rl.Message{{Role: rl.System, Content: "Be brief."}, {Role: rl.User, Content: "a\nb\tc\x1b[31m\u202e"}}},
				Action: rl.Action{Message: rl.Message{Role: rl.Assistant, Content: "Let me see.", ToolCalls: []rl.ToolCall{
					{Name: "find", Invalid: "a brace is missing"}, tool("count", `{"n":12345678901234567890,"o":{"a": [1, 2]}}`), tool("say", `"bare"`), tool("stop", ``)}}}},
			{Observation: rl.Observation{Messages: []rl.Message{result("x"), {Role: rl.User, Content: "go on"}}}},
		},
		Stop: rl.MaxTurns, Outcome: rl.Score{Unscored: "environment gone"},
	}
	same(t, Trajectory(Episode{Trajectory: e, LeftOut: "below_quorum"}, 80, Style{}), `
system Be brief.
user   a
       b    c\x1b[31m\u202e
   1 > Let me see.
     > find: not a call, a brace is missing
     > count(n=12345678901234567890, o={"a":[1,2]})
     > say("bare")
     > stop()
       x
user   go on
   2 > (nothing)
stop   max turns after 2 turns, 0 tokens
score  none: environment gone
adv    not trained on: below quorum
`)
}

func TestBeside(t *testing.T) {
	told := before()
	told.Turns[0].Observation.Messages = append([]rl.Message{{Role: rl.System, Content: "You work at a desk."}}, told.Turns[0].Observation.Messages...)
	a, b := Column{"before: orders-1@000000", Episode{Trajectory: told}}, Column{"after: orders-1@000040", Episode{Trajectory: after()}}
	same(t, Beside(a, b, 72, Style{}), `
before: orders-1@000000            │ after: orders-1@000040
───────────────────────────────────┼───────────────────────────────────
user   where is order 48?          │ user   where is order 48?
   1 > find_order(order="48")      │    1 > find_order(order="48")
       48 in box C7, fragile       │        48 in box C7, fragile
   2 > answer(place="Oslo 7")      │    2 > inspect(box="C7")
                                   │      > track_box(box="C7")
                                   │        C7 intact, as far as one
                                   │        can see from the outside of
                                   │        it
                                   │    3 > answer(place="Oslo 7")
stop   answered after 2 turns, 7   │ stop   answered after 3 turns, 10
       tokens                      │        tokens
score  0 (the box was not          │ score  1
       inspected)                  │
`)
	for _, line := range strings.Split(Beside(a, b, 60, Style{ASCII: true}), "\n") {
		for _, r := range line {
			if r > 126 {
				t.Fatalf("%q is not ASCII", line)
			}
		}
	}
	plain := Beside(a, b, 90, Style{})
	if coloured := uncoloured.Replace(Beside(a, b, 90, Style{Color: true})); coloured != plain {
		t.Errorf("with colours the layout differs:\n%s\n%s", coloured, plain)
	}
}

func summary() rl.UpdateSummary {
	return rl.UpdateSummary{
		Run: "orders-1", Update: 12, Success: .7131, RewardMean: .71, RewardStd: .32, ZeroVarianceFraction: .375, Loss: -.01234,
		Metrics: map[string]float64{"kl": .00412, "clip_fraction": .0213, "entropy": .31234}, Tokens: 26520, Turns: 4100,
		Signals: &rl.Signals{
			Rewards: map[string]float64{"reward_exact": .7, "reward_format": .95}, PassAt: []rl.PassRate{{K: 1, Rate: .7131}, {K: 2, Rate: .8}, {K: 4, Rate: .855}, {K: 8, Rate: .914}},
			AdvantageTokens: []int{0, 40, 0, 400, 0, 0, 0, 200, 0, 0}, AlikeSolved: .3, AlikeFailed: .075, Turns: 4, Tokens: 25.9, Truncated: .0312, Lost: .0098,
		},
		Seconds: rl.Seconds{Sample: .01, Rollout: 1.2, Judge: .02, Advantage: .03, Update: .8, Checkpoint: .05, Publish: .01},
	}
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		width int
		style Style
		want  string
	}{
		{140, Style{}, `
 update success      reward  flat  tok/s  pass@k entropy turns/s     loss     kl  clip roll+judge+upd+rest s      s    left
  12/40   0.713 0.71 ± 0.32   38%  22.1k  0.91@8   0.312    3417  -0.0123 0.0041 0.021       1.2+0.0+0.8+0.1    2.1   1m20s
`}, {110, Style{}, `
 update success      reward  flat  tok/s turns/s     loss     kl  clip roll+judge+upd+rest s      s    left
  12/40   0.713 0.71 ± 0.32   38%  22.1k    3417  -0.0123 0.0041 0.021       1.2+0.0+0.8+0.1    2.1   1m20s
`}, {80, Style{}, `
 update success      reward  flat  tok/s turns/s     loss     kl      s    left
  12/40   0.713 0.71 ± 0.32   38%  22.1k    3417  -0.0123 0.0041    2.1   1m20s
`}, {40, Style{ASCII: true}, `
 update success  flat      s    left
  12/40   0.713   38%    2.1   1m20s
`}, {50, Style{ASCII: true}, `
 update success      reward  flat      s    left
  12/40   0.713  0.71+-0.32   38%    2.1   1m20s
`}} {
		table := Table{Updates: 40, Width: c.width, Style: c.style}
		got := table.Header() + table.Row(summary(), 80*time.Second)
		same(t, got, c.want)
		for _, line := range strings.Split(got, "\n") {
			if columns(line) > c.width {
				t.Errorf("a line of %d columns in a table of %d", columns(line), c.width)
			}
		}
	}
	same(t, Table{Updates: 40}.Line(summary(), -1)+"\n", `
update 12/40 success=0.713 reward_mean=0.7100 reward_std=0.3200 zero_variance=0.375 loss=-0.01234 kl=0.00412 clip=0.0213 tokens_per_s=22.1k turns_per_s=3417 entropy=0.3123 pass_at_8=0.914 turns_mean=4.0 tokens_mean=25.9 truncated=0.031 lost=0.010 seconds=2.12 (sample 0.01, rollout 1.20, judge 0.02, advantage 0.03, update 0.80, checkpoint 0.05, publish 0.01) left=-
`)
	if got := (Table{Updates: 40}).Line(rl.UpdateSummary{}, 0); !strings.Contains(got, "kl=- clip=- tokens_per_s=- turns_per_s=-") {
		t.Errorf("without figures: %s", got)
	}
}

func TestGroupsThatAJudgeCouldNotTellApartAreFlat(t *testing.T) {
	row := Table{Updates: 4, Width: 200}.Row(rl.UpdateSummary{Update: 1, ZeroVarianceFraction: .25, JudgeFlatFraction: .5}, 0)
	if !strings.Contains(row, " 75% ") {
		t.Errorf("%s", row)
	}
}

// A turn with which a training row begins says why.
func TestATrajectoryInSeveralRows(t *testing.T) {
	broken := before()
	broken.Turns[1].Action.Kept, broken.Turns[1].Action.Prompt = 0, []int32{9}
	if got := Trajectory(Episode{Trajectory: broken}, 80, Style{}); !strings.Contains(got, "   2 > answer(place=\"Oslo 7\")\nrow    a new one: tool_calls_rewritten, after 0 tokens of the prompt\n") {
		t.Error(got)
	}
	if got := Trajectory(Episode{Trajectory: before()}, 80, Style{}); strings.Contains(got, "row ") {
		t.Error(got)
	}
}

func TestSignals(t *testing.T) {
	same(t, Rows(Signals(*summary().Signals, Style{})), `
reward_exact   0.7 on average
reward_format  0.95 on average
pass@k         1: 0.713, 2: 0.800, 4: 0.855, 8: 0.914
alike          solved by all members: 30 % of the groups; failed alike by all: 8 %
episodes       4.0 turns and 25.9 tokens on average, 3.1 % cut off
missing        1.0 % of the rollouts lost to failures, 0.0 % stale
advantages     ▁ -1 ▁ -0.5 █ -0.25 ▁ 0 ▁ 0.25 ▁ 0.5 ▅  (█ is 400 trained tokens)
`)
	broken := Rows(Signals(rl.Signals{Broken: .5, Breaks: map[rl.Break]float64{rl.TextRewritten: .125, rl.ReasoningStripped: .375}}, Style{}))
	if want := "rows      50.0 % of the later turns begin a new one: reasoning_stripped 37.5 %, text_rewritten 12.5 %\n"; !strings.HasSuffix(broken, want) {
		t.Errorf("%s", broken)
	}
	same(t, Rows(Signals(rl.Signals{JudgedAlike: .5, AdvantageTokens: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 7}}, Style{ASCII: true})), `
alike       solved by all members: 0 % of the groups; failed alike by all: 0 %; not told apart by the judge: 50 %
episodes    0.0 turns and 0.0 tokens on average, 0.0 % cut off
missing     0.0 % of the rollouts lost to failures, 0.0 % stale
advantages  @  (@ is 7 trained tokens)
`)
}

func TestCourses(t *testing.T) {
	of := func(rewards map[string]float64) rl.UpdateSummary {
		return rl.UpdateSummary{Signals: &rl.Signals{Rewards: rewards}}
	}
	same(t, Rows(Courses([]rl.UpdateSummary{
		{}, // a warm-up
		of(map[string]float64{"reward_exact": 0, "reward_cost": -.25}),
		of(map[string]float64{"reward_exact": .2, "reward_format": 1, "reward_cost": -.25}),
		of(map[string]float64{"reward_exact": .4, "reward_format": .5, "reward_cost": -.25}),
		of(map[string]float64{"reward_exact": .8, "reward_format": .75, "reward_cost": -.25}),
	}, Style{})), `
COMPONENT      FIRST   LAST    RANGE             OVER UPDATES
reward_cost    -0.250  -0.250  -0.250 to -0.250   ▁▁▁▁
reward_exact   0.000   0.800   0.000 to 0.800     ▁▃▅█
reward_format  1.000   0.750   0.500 to 1.000      █▁▅
`)
	if rows := Courses([]rl.UpdateSummary{{}, of(nil)}, Style{}); rows != nil {
		t.Errorf("without components: %q", rows)
	}
	nan := math.NaN()
	if got := fmt.Sprint(thinned([]float64{1, 3, nan, 5, nan, nan}, 3)); got != "[2 5 NaN]" {
		t.Errorf("thinned to %s", got)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{-1 * time.Second: "-", 0: "0s", 59499 * time.Millisecond: "59s", 59500 * time.Millisecond: "1m00s",
		80 * time.Second: "1m20s", 2*time.Hour + 5*time.Minute: "2h05m", 76 * time.Hour: "3d04h"} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestEvaluation(t *testing.T) {
	b := rl.Evaluation{Version: "orders-1@000000", Key: "17b88d55", Tasks: 200, Greedy: rl.Rate{Hits: 72, Of: 200, Mean: .36, Low: .2967, High: .4286},
		Sampled: rl.Rate{Hits: 70, Of: 198, Mean: .3535, Low: .29, High: .422}, ByKind: map[string]rl.Rate{"fragile": {Of: 118, High: .0316}},
		Failed: map[rl.LeftOut]int{rl.EnvFailed: 2}}
	a := rl.Evaluation{Version: "orders-1@000040", Tasks: 200, Greedy: rl.Rate{Hits: 195, Of: 200, Mean: .975, Low: .943, High: .9893},
		Sampled: rl.Rate{Hits: 194, Of: 200, Mean: .97, Low: .936, High: .986}, ByKind: map[string]rl.Rate{"fragile": {Hits: 115, Of: 118, Mean: .9746, Low: .928, High: .9913}, "chain": {}}}
	same(t, Evaluation(b)+"\n"+BeforeAfter(b, a), `
orders-1@000000 on 200 held-out tasks: greedy 36.0 % (29.7 to 42.9), sampled 35.4 % (29.0 to 42.2); 2 episodes without a score, failed_environment 2: `+"`longhaul show orders-1@000000/17b88d55`"+` says why
held-out success  orders-1@000000        orders-1@000040
greedy            36.0 % (29.7 to 42.9)  97.5 % (94.3 to 98.9)
sampled           35.4 % (29.0 to 42.2)  97.0 % (93.6 to 98.6)
  chain           nothing scored         nothing scored
  fragile         0.0 % (0.0 to 3.2)     97.5 % (92.8 to 99.1)
`)
}

func TestCurve(t *testing.T) {
	same(t, Curve([]Series{
		{"sampled in training", '.', []int{1, 2, 3, 4, 5}, []float64{.35, .4, .6, .8, math.NaN()}},
		{"held out, greedy", 'o', []int{0, 5}, []float64{.3, .97}},
	}, 5, 36, 10, Style{}), `
100 %┤                             o
     ┤                       .
     ┤                 .
 50 %┤
     ┤o     .     .
     ┤
  0 %┤
     └──────────────────────────────
      0                            5
      update     . sampled in training   o held out, greedy
`)
	if got := Sparkline([]float64{0, .5, .99, 1, math.NaN(), .2, -1, 2}, Style{}); got != "▁▅██ ▂▁█" {
		t.Errorf("sparkline %q", got)
	}
	if got := Sparkline([]float64{0, .5, 1}, Style{ASCII: true}); got != "_+@" {
		t.Errorf("ASCII sparkline %q", got)
	}
}

func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := clean(rapid.String().Draw(t, "s")), rapid.IntRange(2, 40).Draw(t, "w")
		lines := wrap(s, w)
		for _, l := range lines {
			if columns(l) > w {
				t.Fatalf("line %q has %d columns, more than %d", l, columns(l), w)
			}
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if squeeze.Replace(strings.Join(lines, "")) != squeeze.Replace(s) {
			t.Fatalf("%q became %q", s, lines)
		}
	})
	for in, want := range map[string]string{"": "", "aa bb": "aa|bb", "日本語": "日|本|語", "ab\n\ncd": "ab||cd", "abcdefg h": "abc|def|g h", "e\u0301e\u0301e\u0301e": "e\u0301e\u0301e\u0301|e"} {
		if got := strings.Join(wrap(in, 3), "|"); got != want {
			t.Errorf("wrap(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever an agent or an environment writes, no control character reaches the terminal.
func TestNothingForeignMovesTheCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text") + rapid.StringMatching(`[\x00-\x1f\x7f]{0,5}`).Draw(t, "controls") + "\u009b31m"
		e := Episode{Trajectory: &rl.Trajectory{Turns: []rl.Turn{turn(result(s), 1, rl.ToolCall{Name: s, Invalid: s}, tool(s, `{"a":1}`))}, Outcome: rl.Score{Unscored: s}}, LeftOut: s}
		width := rapid.IntRange(40, 120).Draw(t, "width")
		for _, out := range []string{Trajectory(e, width, Style{}), Beside(Column{s, e}, Column{"b", e}, width, Style{})} {
			for _, r := range strings.ReplaceAll(out, "\n", "") {
				if r < ' ' || r >= 0x7f && r < 0xa0 {
					t.Fatalf("%q lets %q through", s, r)
				}
			}
		}
	})
}
