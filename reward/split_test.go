package reward

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// long is a group of eight that say a letter each; all but a and h, which become the anchors, say much.
func long() rl.Group {
	g := eight()
	for i := 1; i < 7; i++ {
		g.Trajectories[i].Turns[0].Action.Message.Content += strings.Repeat("x", 900)
	}
	return g
}

// tight has room for about four of long's attempts in a call.
func tight(c *rl.RewardConfig) { c.Passes, c.DeadBand, c.Context, c.ReplyTokens = 1, 0, 1700, 256 }

// The judge's second part and those after it have a scale of their own: the anchors bring all to that of the first.
func TestPartsComeBackToOneScale(t *testing.T) {
	var asked []Question
	n := 0
	scales := func(ctx context.Context, q Question) (Reply, error) {
		n++
		return judgeBy(func(text string, _ int) float64 {
			if n == 1 {
				return letter(text, 0)
			}
			return .2 + .5*letter(text, 0)
		})(ctx, q)
	}
	s := scoresOf(t, judged(tight), long(), recorded(scales, &asked))
	if len(asked) < 2 || s.Notes[0] != "the group did not fit the judge's context: it was judged in 3 parts that share two attempts" {
		t.Fatalf("%d asks, %q", len(asked), s.Notes)
	}
	for i, x := range s.Scores {
		if want := float64(i) / 8; math.Abs(x.Value-want) > 1e-12 {
			t.Errorf("member %d: %v, want %v", i, x.Value, want)
		}
	}
	for _, q := range asked {
		text, chars := "", 0
		for _, a := range shownIn(q) {
			text += string(a.text[2])
		}
		for _, m := range q.Messages {
			chars += len(m.Content)
		}
		if !strings.Contains(text, "a") || !strings.Contains(text, "h") || chars > (1700-256)*3 {
			t.Errorf("%s in %d characters", text, chars)
		}
	}
}

func TestOnScale(t *testing.T) {
	at := func(a, b float64) []verdict { return []verdict{{score: a}, {score: b}} }
	for _, c := range []struct {
		score      float64
		own, first []verdict
		want       float64
	}{
		{.5, at(.25, .75), at(0, 1), .5},
		{.375, at(.25, .75), at(0, 1), .25},
		{1, at(.25, .75), at(0, 1), 1},     // above 1, and kept in
		{.5, at(.5, .5), at(.25, .75), .5}, // not told apart: by the mean difference
		{.75, at(.5, .5), at(0, .5), .5},
		{.5, at(.75, .25), at(.25, .75), .5}, // the other way round: by the mean difference
		{.75, at(.5, .5625), at(0, 1), .71875},
	} {
		if got := onScale(c.score, c.own, c.first); got != c.want {
			t.Errorf("%v, %v, %v: %v, want %v", c.score, c.own, c.first, got, c.want)
		}
	}
}

func TestWhatDoesNotFitIsNotScored(t *testing.T) {
	never := func(context.Context, Question) (Reply, error) { panic("asked") }
	for _, c := range []struct {
		want string
		g    rl.Group
	}{
		{"judge: judge: context limit: the two attempts to be compared do not fit into 600 tokens", groupOf(said("a"), said("b"))},
		{"judge: judge: context limit: an attempt of 909 characters and the two that it is compared with do not fit into 600 tokens", long()},
	} {
		s := scoresOf(t, judged(func(c *rl.RewardConfig) { tight(c); c.Context = 600 }), c.g, never)
		for i, x := range s.Scores {
			if x.Unscored != c.want {
				t.Errorf("member %d: %+v", i, x)
			}
		}
	}
}

// A server that takes less than reward.context says is told again with shorter results.
func TestShorterResults(t *testing.T) {
	g := groupOf(said("a", "b"), said("c", "d"))
	g.Trajectories[0].Turns[1].Observation.Messages = []rl.Message{{Role: rl.ToolRole, Content: strings.Repeat("0123456789", 300)}}
	var asked []Question
	small := func(ctx context.Context, q Question) (Reply, error) {
		if len(q.Messages[1].Content) > 2000 {
			return Reply{}, rl.Errorf(rl.Refused, "judge http://h", "%w: at most 2000", endpoint.ErrContextLimit)
		}
		return judgeBy(letter)(ctx, q)
	}
	s := scoresOf(t, judged(nil), g, recorded(small, &asked))
	if values(s) != "0 0.25" || strings.Join(s.Notes, "|") != "tool results are cut to 2000 bytes: the group did not fit the judge's context|tool results are cut to 1000 bytes: the group did not fit the judge's context" {
		t.Fatalf("%s, %q", values(s), s.Notes)
	}
	if last := asked[len(asked)-1].Messages[1].Content; !strings.Contains(last, "9[... 2000 bytes left out ...]0") {
		t.Errorf("%s", last)
	}
	if s := scoresOf(t, judged(func(c *rl.RewardConfig) { c.ResultChars = 399 }), g, small); values(s) != "0 0.25" {
		t.Errorf("%s", values(s))
	}
}

// Where only the part that would be cut tells attempts apart, they are not taken for equals.
func TestCuttingDoesNotMakeEquals(t *testing.T) {
	g := groupOf(said("a"), said("a"))
	for i, word := range []string{"good", "evil"} {
		g.Trajectories[i].Closing.Messages = []rl.Message{{Role: rl.ToolRole, Content: strings.Repeat("x", 1600) + word + strings.Repeat("x", 1600)}}
	}
	s := scoresOf(t, judged(nil), g, func(context.Context, Question) (Reply, error) {
		return Reply{}, rl.Errorf(rl.Refused, "judge http://h", "%w: no", endpoint.ErrContextLimit)
	})
	if values(s) != "- -" {
		t.Errorf("%+v", s)
	}
}
