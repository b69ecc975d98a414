package reward

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

func TestJudgeScoresEachMember(t *testing.T) {
	g := eight()
	g.Trajectories[2], g.Failed[2] = nil, "failed_policy: 503"
	var asked []Question
	s := scoresOf(t, judged(nil), g, recorded(judgeBy(letter), &asked))
	if got, want := values(s), "0 0.125 - 0.375 0.5 0.625 0.75 0.875"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.Scores[2].Unscored != "failed_policy: 503" || s.Scores[3].Reason != "about . d\n< ok\n" || s.Flat != "" || s.Notes != nil {
		t.Errorf("%+v", s)
	}
	if m := s.Scores[3].Metrics; m["judge_pass_1"] != .375 || m["judge_pass_2"] != .375 || len(m) != 2 {
		t.Errorf("%v", m)
	}
	if want := (rl.Spent{Calls: 2, PromptTokens: 200, ReplyTokens: 20, USD: .5}); s.Spent != want {
		t.Errorf("spent %+v", s.Spent)
	}
	if q := asked[0]; len(asked) != 2 || q.Model != "m" || q.MaxTokens != 8192 || q.PerTurn || !slices.IsSorted(q.IDs) || len(q.IDs) != 7 || q.Prompt != promptVersion {
		t.Errorf("%+v", q)
	}
}

// Seven of eight are not enough: the judge is told which one is missing, and after three asks nobody has a score.
func TestJudgeIsAskedAgain(t *testing.T) {
	var asked []Question
	short := func(ctx context.Context, q Question) (Reply, error) {
		r, err := judgeBy(letter)(ctx, q)
		r.Text = strings.Replace(r.Text, fmt.Sprintf("%q", shownIn(q)[7].id), `"??"`, 1)
		return r, err
	}
	s := scoresOf(t, judged(nil), eight(), recorded(short, &asked))
	if len(asked) != 3 || values(s) != "- - - - - - - -" || s.Spent.Calls != 3 {
		t.Fatalf("%d asks, %s, %+v", len(asked), values(s), s.Spent)
	}
	missing := fmt.Sprintf(`the id "??" is none of those asked about; id %q is missing`, shownIn(asked[0])[7].id)
	if want := "judge: no valid reply in 3 asks; of the last one: " + missing; s.Scores[0].Unscored != want {
		t.Errorf("%s", s.Scores[0].Unscored)
	}
	if len(asked[1].Messages) != 4 || asked[1].Messages[2].Role != rl.Assistant || asked[1].Messages[3].Content !=
		"This is not a valid reply: "+missing+". Reply again, with JSON only, with every id exactly once and every score a number from 0 to 1." {
		t.Errorf("%+v", asked[1].Messages[2:])
	}
	if len(asked[2].Messages) != 6 || asked[2].Seed != asked[0].Seed {
		t.Errorf("%d messages, seed %d after %d", len(asked[2].Messages), asked[2].Seed, asked[0].Seed)
	}
	if want := "the judge was asked again: " + missing; len(s.Notes) != 2 || s.Notes[0] != want {
		t.Errorf("%q", s.Notes)
	}
}

func TestABadReplyThenAGoodOne(t *testing.T) {
	for _, c := range []struct {
		bad        Reply
		note, back string
	}{
		{Reply{Text: "", Finish: "stop"}, "the reply is empty", "(nothing)"},
		{Reply{Text: `{"scores":[]`, Finish: "length"}, `the reply was cut off after 8192 tokens: the JSON that begins "{\"scores\":[]" cannot be read: unexpected EOF`, `{"scores":[]`},
		{Reply{Text: "(the judge refuses: no)", Finish: "stop"}, `there is no JSON object with "scores" in it`, "(the judge refuses: no)"},
	} {
		var asked []Question
		s := scoresOf(t, judged(func(c *rl.RewardConfig) { c.Passes, c.DeadBand = 1, 0 }), eight(), recorded(replies(c.bad), &asked))
		if values(s) != "0 0.125 0.25 0.375 0.5 0.625 0.75 0.875" || s.Scores[0].Metrics != nil {
			t.Errorf("%q: %+v", c.bad.Text, s)
		}
		if len(asked) != 2 || asked[1].Messages[2].Content != c.back || len(s.Notes) != 1 || s.Notes[0] != "the judge was asked again: "+c.note {
			t.Errorf("%q: %d asks, %q", c.bad.Text, len(asked), s.Notes)
		}
	}
}

// A whole verdict in a reply that was cut off may be a draft.
func TestACutOffReplyIsNoVerdict(t *testing.T) {
	cutOff := func(ctx context.Context, q Question) (Reply, error) {
		r, err := judgeBy(letter)(ctx, q)
		r.Finish = "length"
		return r, err
	}
	s := scoresOf(t, judged(nil), eight(), cutOff)
	if want := "judge: no valid reply in 3 asks; of the last one: the reply was cut off after 8192 tokens"; s.Scores[7].Unscored != want {
		t.Errorf("%+v", s.Scores[7])
	}
}

// The order of a pass follows from the seed and is on record in the question; the second is the first one reversed.
func TestOrders(t *testing.T) {
	order := func(change func(*rl.RewardConfig), pass int) (out string) {
		var asked []Question
		scoresOf(t, judged(change), eight(), recorded(judgeBy(letter), &asked))
		for _, a := range shownIn(asked[pass]) {
			out += string(a.text[2])
		}
		return out
	}
	four := func(c *rl.RewardConfig) { c.Passes = 4 }
	fixed := func(c *rl.RewardConfig) { c.Order = "fixed" }
	for i, want := range []string{"hagebfcd", "dcfbegah", "ehdfagcb", "bcgafdhe"} {
		if got := order(four, i); got != want {
			t.Errorf("pass %d: %s, want %s", i+1, got, want)
		}
	}
	if a, b := order(fixed, 0), order(fixed, 1); a != "abcdefgh" || b != "hgfedcba" {
		t.Errorf("fixed: %s, %s", a, b)
	}
}

// A judge that adds up to .3 to early places gives equals different scores in one pass, and the same over two.
func TestReversalCancelsAPreferenceForPlaces(t *testing.T) {
	biased := judgeBy(func(text string, place int) float64 { return letter(text, 0)/2 + .3*float64(7-place)/7 })
	s := scoresOf(t, judged(func(c *rl.RewardConfig) { c.DeadBand = 0 }), eight(), biased)
	for i, x := range s.Scores {
		if want := float64(i)/16 + .15; !(x.Value > want-1e-12 && x.Value < want+1e-12) {
			t.Errorf("member %d: %v, want %v", i, x.Value, want)
		}
	}
}

func TestAttemptsThatReadAlikeAreOne(t *testing.T) {
	a, b := said("a"), said("c")
	again := said("c")
	again.Episode.Member, again.Turns[0].Action.Seed = 2, 9
	var asked []Question
	s := scoresOf(t, judged(nil), groupOf(a, b, again), recorded(judgeBy(letter), &asked))
	if values(s) != "0 0.25 0.25" || len(shownIn(asked[0])) != 2 {
		t.Errorf("%s, %d shown", values(s), len(shownIn(asked[0])))
	}
}

func TestNobodyIsAskedAboutOneAttempt(t *testing.T) {
	never := func(context.Context, Question) (Reply, error) { panic("asked") }
	s := scoresOf(t, judged(nil), groupOf(nil, said("a")), never)
	if want := (rl.Score{Value: .5, Reason: "there is no other attempt to compare it with"}); s.Scores[1].Value != want.Value || s.Scores[1].Reason != want.Reason || s.Scores[0].Scored() {
		t.Errorf("%+v", s)
	}
	if s := scoresOf(t, judged(nil), groupOf(said("a"), said("a")), never); values(s) != "0.5 0.5" {
		t.Errorf("%s", values(s))
	}
	if s := scoresOf(t, judged(nil), groupOf(nil, nil), never); values(s) != "- -" {
		t.Errorf("%s", values(s))
	}
}

func TestForcedTies(t *testing.T) {
	var asked []Question
	forced := judged(func(c *rl.RewardConfig) { c.Ties = "forced" })
	s := scoresOf(t, forced, eight(), recorded(judgeBy(func(string, int) float64 { return .5 }), &asked))
	if len(asked) != 3 || !strings.HasSuffix(s.Scores[0].Unscored, "have the same score") {
		t.Errorf("%d asks, %+v", len(asked), s.Scores[0])
	}
	if !strings.Contains(asked[0].Messages[0].Content, tiesForced) || strings.Contains(asked[0].Messages[0].Content, tiesAllowed) {
		t.Error("the judge is not told")
	}
	if s := scoresOf(t, forced, eight(), judgeBy(letter)); values(s) != "0 0.125 0.25 0.375 0.5 0.625 0.75 0.875" {
		t.Errorf("%s", values(s))
	}
}

func TestTurns(t *testing.T) {
	ask := func(_ context.Context, q Question) (Reply, error) {
		var entries []string
		for _, a := range shownIn(q) {
			list := "[0,0.5,1]" // (turn 0) is in the beginning of all
			if strings.Contains(a.text, "(turn 1) b") {
				list = "[0.25,0.75]"
			}
			entries = append(entries, fmt.Sprintf(`{"id":%q,"score":%d,"turns":%s}`, a.id, strings.Count(list, ",")-1, list))
		}
		return Reply{Text: `{"scores":[` + strings.Join(entries, ",") + `]}`}, nil
	}
	var asked []Question
	s := scoresOf(t, judged(func(c *rl.RewardConfig) { c.PerTurn = "asked" }), groupOf(said("x", "a", "c"), said("x", "b")), recorded(ask, &asked))
	if fmt.Sprint(s.Scores[0].Turns) != "[0 0.5 1]" || fmt.Sprint(s.Scores[1].Turns) != "[0.25 0.75]" || values(s) != "1 0" {
		t.Errorf("%+v", s.Scores)
	}
	if !asked[0].PerTurn || !strings.Contains(asked[0].Messages[1].Content, "\n. (turn 0) x\n") || !strings.Contains(asked[0].Messages[0].Content, `"turns":[0.0]}]}`) {
		t.Errorf("%+v", asked[0].Messages)
	}
}

// Some failures are about this one question: nobody is scored, and the run goes on. Others are the judge's.
func TestErrors(t *testing.T) {
	reward, err := New(Parts{Config: judged(nil), Ask: func(context.Context, Question) (Reply, error) {
		return Reply{}, rl.Errorf(rl.Unavailable, "judge http://h", "503")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := reward(t.Context(), eight()); rl.KindOf(err) != rl.Unavailable || s.Scores != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for _, cause := range []error{endpoint.ErrConversation, endpoint.ErrContextLimit} {
		s := scoresOf(t, judged(nil), eight(), func(context.Context, Question) (Reply, error) {
			return Reply{}, rl.Errorf(rl.Refused, "judge http://h", "%w: no", cause)
		})
		if want := "judge: judge http://h: " + cause.Error() + ": no"; s.Scores[0].Unscored != want {
			t.Errorf("%+v, want %s", s.Scores[0], want)
		}
	}
}

// Whatever the order, the ids, the passes, and whoever has failed or reads like another: each member gets the score of its own text.
func TestEachMemberHasItsOwnScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.IntRange(-1, 7), 1, 12).Draw(t, "letters") // -1: failed
		all := make([]*rl.Trajectory, len(letters))
		var distinct []int
		for i, l := range letters {
			if l >= 0 {
				all[i] = said(string(rune('a' + l)))
				distinct = append(distinct, l)
			}
		}
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		c := judged(func(c *rl.RewardConfig) {
			c.Passes, c.DeadBand = rapid.IntRange(1, 4).Draw(t, "passes"), 0
			c.Ties = rapid.SampledFrom([]string{"allowed", "forced"}).Draw(t, "ties")
			c.Context = rapid.SampledFrom([]int{0, 128_000, 8826}).Draw(t, "context")
		})
		reward, err := New(Parts{Config: c, Seed: rapid.Uint64().Draw(t, "seed"), Ask: judgeBy(letter)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := reward(t.Context(), groupOf(all...))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range letters {
			switch {
			case l < 0 && s.Scores[i].Scored():
				t.Fatalf("member %d failed and has %+v", i, s.Scores[i])
			case l >= 0 && len(distinct) == 1 && s.Scores[i].Value != nobody:
				t.Fatalf("member %d is alone and has %+v", i, s.Scores[i])
			case l >= 0 && len(distinct) > 1 && (!s.Scores[i].Scored() || s.Scores[i].Value != float64(l)/8):
				t.Fatalf("member %d has %+v, not %v", i, s.Scores[i], float64(l)/8)
			}
		}
	})
}
