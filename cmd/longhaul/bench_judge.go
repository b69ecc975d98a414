package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// benchJudge measures what a judge is told of a group, beside the same group as JSON and in the form of RULER (OpenPipe ART
// 0.5.18), and what it takes to write that and to read the answer. No judge is asked.
func benchJudge(ctx context.Context, _ *app) (benchmark, error) {
	b := benchmark{Name: "judge", Ratios: map[string]float64{}, Figures: map[string]float64{}}
	g, err := judgedGroup(ctx)
	if err != nil {
		return b, err
	}
	const rounds = 200
	var prompt reward.Question
	var written, read time.Duration
	for range rounds {
		start := time.Now()
		q, answered, err := judgedOnce(ctx, g)
		if err != nil {
			return b, err
		}
		prompt, written, read = q, written+answered.Sub(start), read+time.Since(answered)
	}
	b.Figures["write_seconds"], b.Figures["read_seconds"] = written.Seconds()/rounds, read.Seconds()/rounds
	sizes := map[string]int{"prompt": promptChars(prompt), "ruler": utf8.RuneCountInString(rulerForm(g)), "json": utf8.RuneCountInString(naiveForm(g))}
	for form, n := range sizes {
		b.Figures[form+"_characters"] = float64(n)
	}
	b.Ratios["prompt over RULER's"] = float64(sizes["prompt"]) / float64(sizes["ruler"])
	b.Ratios["prompt over JSON of all messages"] = float64(sizes["prompt"]) / float64(sizes["json"])
	return b, ctx.Err()
}

// judgedOnce scores a group by a judge that has its answer ready at a time.
func judgedOnce(ctx context.Context, g rl.Group) (asked reward.Question, answered time.Time, err error) {
	config := rl.RewardConfig{Use: "judge", Model: "m", Passes: 1, Order: "shuffled", Ties: "allowed", PerTurn: "off", ResultChars: 4000, ReplyTokens: 8192}
	judge, err := reward.New(reward.Parts{Config: config, Seed: 1, Ask: func(_ context.Context, q reward.Question) (reward.Reply, error) {
		reply := fixedVerdict(q)
		asked, answered = q, time.Now()
		return reply, nil
	}})
	if err != nil {
		return asked, answered, err
	}
	_, err = judge(ctx, g)
	return asked, answered, err
}

func promptChars(q reward.Question) (n int) {
	for _, m := range q.Messages {
		n += utf8.RuneCountInString(m.Content)
	}
	return n
}

func fixedVerdict(q reward.Question) reward.Reply {
	var entries []string
	for i, id := range q.IDs {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"reason":"it found the order after %d calls","score":%v}`, id, 10+i, float64(i)/8))
	}
	return reward.Reply{Text: `{"scores":[` + strings.Join(entries, ",") + `]}`, Finish: "stop"}
}

// judgedGroup is eight attempts of benchTurns turns at one task of the order desk, as a chat model makes them: a few words and a call a
// turn. They have the instructions and the question in common.
func judgedGroup(ctx context.Context) (rl.Group, error) {
	world, err := envs.Get("orders")
	if err != nil {
		return rl.Group{}, err
	}
	task := world.Task(rl.Train, 4)
	g := rl.Group{Task: task, Trajectories: make([]*rl.Trajectory, benchGroup), Failed: make([]string, benchGroup)}
	world.Brief(&g)
	for member := range g.Trajectories {
		if g.Trajectories[member], err = judgedEpisode(ctx, world, task, member); err != nil {
			return rl.Group{}, err
		}
	}
	return g, nil
}

func judgedEpisode(ctx context.Context, world envs.World, task rl.Task, member int) (*rl.Trajectory, error) {
	desk := world.New()
	o, err := desk.Reset(ctx, task)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(uint64(member), 1))
	seen := append([]rl.Message{{Role: rl.System, Content: desk.Spec().System}}, o.Messages...)
	t := &rl.Trajectory{Schema: rl.TrajectorySchema, Task: task, Stop: rl.MaxTurns}
	next := seen
	for turn := range benchTurns {
		action := world.Reference(task)(seen)
		words := fmt.Sprintf("I have made %d calls and know more now.", turn)
		if calls := action.ToolCalls; calls[0].Name == "answer" || rng.IntN(2) == 0 { // it is not sure yet
			action.ToolCalls = []rl.ToolCall{doubt(desk, rng, calls[0].ID)}
			words = "Let me look again before I say anything: I may have the wrong box."
		}
		action.Content = words
		result, err := desk.Step(ctx, envs.Call{ToolCall: action.ToolCalls[0]})
		if err != nil {
			return nil, err
		}
		t.Turns = append(t.Turns, rl.Turn{Observation: rl.Observation{Messages: next}, Action: rl.Action{Message: action}})
		next = []rl.Message{{Role: rl.ToolRole, Content: result.Content, ToolCallID: action.ToolCalls[0].ID}}
		seen = append(append(seen, action), next...)
	}
	t.Closing.Messages = next
	return t, nil
}

// doubt is a call with some id, which need not exist.
func doubt(desk envs.Env, rng *rand.Rand, id string) rl.ToolCall {
	tool := desk.Spec().Tools[1+rng.IntN(2)] // track_box, inspect
	return rl.ToolCall{ID: id, Name: tool.Name, Arguments: rl.CanonicalJSON(map[string]string{"box": fmt.Sprintf("%c%d", 'A'+rng.IntN(26), rng.IntN(10))})}
}

// naiveForm is all messages of all members as JSON.
func naiveForm(g rl.Group) string {
	var all [][]map[string]any
	for _, t := range g.Trajectories {
		all = append(all, chat(t.Messages()))
	}
	return string(rl.CanonicalJSON(all))
}

// rulerForm is what RULER sends: its instructions with its default rubric, the common beginning, the tools, and the rest of each
// trajectory as JSON. Python's json.dumps puts a space after each comma and colon; here there is none, which is in its favour.
func rulerForm(g rl.Group) string {
	all := make([][]map[string]any, len(g.Trajectories))
	for i, t := range g.Trajectories {
		all[i] = chat(t.Messages())
	}
	const common = 2 // the instructions and the question
	text := rulerWords + "<context>\n" + string(rl.CanonicalJSON(all[0][:common])) + "\n</context>\n\n<available_tools>\n" + string(rl.CanonicalJSON(chatTools(g.Tools))) +
		"\n</available_tools>\n\nTrajectories:"
	for i, messages := range all {
		text += fmt.Sprintf("\n\n<trajectory id=\"%d\">\n%s\n</trajectory>", i+1, rl.CanonicalJSON(messages[common:]))
	}
	return text
}

// rulerWords are RULER's own.
const rulerWords = `
All of the trajectories below have been given the same goal. Your job is to consider each of them and give them a score between 0 and 1. Take into consideration your best judgement of the agent's goal.

Grading standards:

- A trajectory that achieves its goal should always get a significantly higher score than a trajectory that does not achieve its goal.
- A trajectory that achieves its goal more efficiently (eg. by avoiding unproductive detours) should get a higher score than a trajectory that achieves its goal less efficiently.
- If one trajectory is only slightly better than another, the difference in scores should be small. If it is significantly better, the difference in scores should be large.
- You may give some partial credit for a trajectory that makes progress towards its goal but does not complete it.
`

// chat are messages in the form of the OpenAI API.
func chat(messages []rl.Message) (out []map[string]any) {
	for _, m := range messages {
		o := map[string]any{"role": m.Role, "content": m.Content}
		var calls []any
		for _, c := range m.ToolCalls {
			calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)}})
		}
		if calls != nil {
			o["tool_calls"] = calls
		}
		if m.ToolCallID != "" {
			o["tool_call_id"] = m.ToolCallID
		}
		out = append(out, o)
	}
	return out
}

func chatTools(tools []rl.Tool) (out []any) {
	for _, t := range tools {
		out = append(out, map[string]any{"type": "function", "function": map[string]any{"name": t.Name, "description": t.Description, "parameters": json.RawMessage(t.Parameters)}})
	}
	return out
}
