package reward

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// said is an episode of one user message and these actions, each of them answered by "ok".
func said(actions ...string) *rl.Trajectory {
	t := &rl.Trajectory{Schema: rl.TrajectorySchema, Stop: rl.Answered}
	next := []rl.Message{{Role: rl.System, Content: "You work."}, {Role: rl.User, Content: "do it"}}
	for _, a := range actions {
		t.Turns = append(t.Turns, rl.Turn{Observation: rl.Observation{Messages: next}, Action: rl.Action{Message: rl.Message{Role: rl.Assistant, Content: a}}})
		next = []rl.Message{{Role: rl.ToolRole, Content: "ok"}}
	}
	t.Closing = rl.Observation{Messages: next}
	return t
}

func groupOf(all ...*rl.Trajectory) rl.Group {
	return rl.Group{Task: rl.Task{ID: "train-1"}, Trajectories: all, Failed: make([]string, len(all))}
}

// eight is a group of eight attempts that say one letter each.
func eight() rl.Group {
	var all []*rl.Trajectory
	for _, letter := range "abcdefgh" {
		all = append(all, said(string(letter)))
	}
	return groupOf(all...)
}

// judged is the configuration of a judge with its usual settings.
func judged(change func(*rl.RewardConfig)) rl.RewardConfig {
	c := rl.RewardConfig{Use: "judge", Model: "m", Passes: 2, Order: "shuffled", Ties: "allowed", PerTurn: "off", ResultChars: 4000, Context: 128_000, ReplyTokens: 8192, DeadBand: 1}
	if change != nil {
		change(&c)
	}
	return c
}

func scoresOf(t testing.TB, c rl.RewardConfig, g rl.Group, ask Ask) rl.Scores {
	t.Helper()
	reward, err := New(Parts{Config: c, Seed: 7, Ask: ask})
	if err != nil {
		t.Fatal(err)
	}
	s, err := reward(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	rl.CanonicalJSON(s) // panics where a value is not finite
	return s
}

// shown is an attempt as a judge sees it.
type shown struct{ id, text string }

var begins = regexp.MustCompile(`(?m)^\[([A-Z0-9]+) ([0-9a-f]{11}) begins\]$`)

// shownIn reads the attempts of a question, in their order, by the fences alone.
func shownIn(q Question) (out []shown) {
	_, rest, _ := strings.Cut(q.Messages[1].Content, "\n# The attempts\n")
	for rest != "" {
		m := begins.FindStringSubmatch(rest)
		if m == nil {
			panic("no beginning: " + rest)
		}
		end := fmt.Sprintf("[%s %s ends]\n", m[1], m[2])
		text, after, ok := strings.Cut(rest[len(m[0])+1:], end)
		if !ok {
			panic("no end: " + rest)
		}
		out, rest = append(out, shown{m[1], text}), after
	}
	return out
}

// judgeBy answers with a score by an attempt's text and its place among those that are shown.
func judgeBy(score func(text string, place int) float64) Ask {
	return func(_ context.Context, q Question) (Reply, error) {
		var entries []string
		for place, a := range shownIn(q) {
			entries = append(entries, fmt.Sprintf(`{"id":%q,"reason":%q,"score":%v}`, a.id, "about "+a.text, score(a.text, place)))
		}
		return Reply{Text: `{"scores":[` + strings.Join(entries, ",") + `]}`, Finish: "stop", Spent: rl.Spent{Calls: 1, PromptTokens: 100, ReplyTokens: 10, USD: .25}}, nil
	}
}

// letter is the score that a letter stands for: a 0, b .125, ... h .875.
func letter(text string, _ int) float64 { return float64(text[len(". ")]-'a') / 8 }

// recorded keeps the questions that are asked.
func recorded(ask Ask, asked *[]Question) Ask {
	return func(ctx context.Context, q Question) (Reply, error) {
		*asked = append(*asked, q)
		return ask(ctx, q)
	}
}

// replies answers with these, one after the other; "" stands for a valid reply.
func replies(texts ...Reply) Ask {
	good := judgeBy(letter)
	n := 0
	return func(ctx context.Context, q Question) (Reply, error) {
		n++
		if n <= len(texts) && texts[n-1] != (Reply{}) {
			return texts[n-1], nil
		}
		return good(ctx, q)
	}
}

func values(s rl.Scores) string {
	var out []string
	for _, x := range s.Scores {
		if x.Scored() {
			out = append(out, fmt.Sprint(x.Value))
		} else {
			out = append(out, "-")
		}
	}
	return strings.Join(out, " ")
}
