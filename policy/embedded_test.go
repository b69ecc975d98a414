package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The client against the embedded server, over a socket and in process. (Only tests of this package know tiny.)

func deskTools() (tools []rl.Tool) {
	for _, t := range [][2]string{{"find_order", "order"}, {"track_box", "box"}, {"inspect", "box"}, {"answer", "place"}} {
		tools = append(tools, rl.Tool{Name: t[0], Description: "One of the tools of the order desk, described in a sentence.", Parameters: json.RawMessage(
			`{"type":"object","properties":{"` + t[1] + `":{"type":"string","description":"What it is about, such as C7."}},"required":["` + t[1] + `"],"additionalProperties":false}`)})
	}
	return tools
}

// desk is a server whose policy learnt to say "find N" when asked for order N: its turns are tool calls.
func desk(t testing.TB, config nn.Config, threads int) *tiny.Server {
	config.V = tiny.Vocab
	trainer := nn.NewTrainer(nn.New(config, 1), 2)
	trainer.LearningRate = 3e-3
	for i := range 40 {
		var rows []*nn.Example
		for j := range 8 {
			order := fmt.Sprintf("%02d", (i*8+j*13)%100)
			rows = append(rows, tiny.EncodeDemonstration(rl.Demonstration{Imitate: []bool{false, true, false, true}, Messages: []rl.Message{
				{Role: rl.User, Content: "where is order " + order + "?"}, call("find_order", "order", order),
				{Role: rl.ToolRole, Content: order + " in box C7"}, call("find_order", "order", order)}}, deskTools()))
		}
		if _, err := trainer.Update(rows); err != nil {
			t.Fatal(err)
		}
	}
	s := tiny.NewServer(func(_ context.Context, v rl.Version) (*nn.Model, error) {
		if v != "run@000001" {
			return nil, rl.Errorf(rl.NotFound, "store", "no version %s", v)
		}
		return trainer.Model, nil
	}, threads)
	t.Cleanup(s.Close)
	return s
}

func call(tool, argument, value string) rl.Message {
	return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{Name: tool, Arguments: rl.CanonicalJSON(map[string]string{argument: value})}}}
}

// play has a conversation of some turns, and gives its responses.
func play(ctx context.Context, c *policy.Client, n, turns int) (all []policy.Response, err error) {
	return converse(n, turns, func(_ int, q policy.Request) (policy.Response, error) { return c.Act(ctx, q) })
}

// converse has the n-th conversation of some turns with whoever acts.
func converse(n, turns int, act func(turn int, q policy.Request) (policy.Response, error)) (all []policy.Response, err error) {
	q := policy.Request{Model: "run@000001", Tools: deskTools(), Temperature: 1, MaxTokens: 8, Messages: []rl.Message{
		{Role: rl.System, Content: "You work at the order desk of a warehouse, and find out with the tools where an order is."},
		{Role: rl.User, Content: fmt.Sprintf("where is order %02d?", n%100)}}}
	for turn := range turns {
		q.Seed = rl.Seed(uint64(n), "turn", turn)
		r, err := act(turn, q)
		if err != nil {
			return all, err
		}
		all = append(all, r)
		q.Messages = append(q.Messages, r.Message)
		q.Actions = append(q.Actions, r.Tokens)
		for _, call := range r.Message.ToolCalls {
			q.Messages = append(q.Messages, rl.Message{Role: rl.ToolRole, Content: fmt.Sprintf("%02d in box C%d", n%100, turn%10), ToolCallID: call.ID})
		}
		if len(r.Message.ToolCalls) == 0 {
			q.Messages = append(q.Messages, rl.Message{Role: rl.User, Content: "bad call"})
		}
	}
	return all, nil
}

var small = nn.Config{D: 64, L: 2, F: 128, Ctx: 256}

func TestEmbeddedServer(t *testing.T) {
	s := desk(t, small, 2)
	srv := httptest.NewServer(s)
	defer srv.Close()
	socket := policy.New(policy.Options{URL: srv.URL + "/v1", Splice: true})
	process := policy.New(policy.Options{URL: "http://tiny/v1", Splice: true, Transport: inprocess.Transport{Handler: s}})
	if err := process.Ready(t.Context(), "run@000001", true); err != nil {
		t.Fatal(err)
	}
	if err := socket.Ready(t.Context(), "run@000002", true); rl.KindOf(err) != rl.NotFound {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	want := make([][]policy.Response, 64)
	for n := range want {
		group.Go(func() {
			var err error
			if want[n], err = play(t.Context(), socket, n, 5); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	calls := 0
	for n := range want {
		got, err := play(t.Context(), process, n, 5)
		if err != nil || !reflect.DeepEqual(got, want[n]) {
			t.Fatalf("conversation %d: %v\n%+v\nover a socket and 64 at once:\n%+v", n, err, got, want[n])
		}
		var sequence []int32
		for _, r := range got {
			calls += len(r.Message.ToolCalls)
			if !slices.Equal(r.Prompt[:len(sequence)], sequence) {
				t.Fatalf("conversation %d: the prompt does not go on from what was served", n)
			}
			sequence = slices.Concat(r.Prompt, r.Tokens)
		}
	}
	if calls < 64*5/2 {
		t.Errorf("%d calls in %d turns: the policy should have learnt to call", calls, 64*5)
	}
}

// Without splicing the history is rendered again; the result is the same wherever text has one spelling.
func TestEmbeddedServerWithoutSplice(t *testing.T) {
	c := policy.New(policy.Options{URL: "http://tiny/v1", Transport: inprocess.Transport{Handler: desk(t, small, 1)}})
	all, err := play(t.Context(), c, 48, 3)
	if err != nil || len(all) != 3 || len(all[2].Prompt) <= len(all[1].Prompt) {
		t.Fatalf("%+v %v", all, err)
	}
}

func TestEmbeddedServerLimits(t *testing.T) {
	c := policy.New(policy.Options{URL: "http://tiny/v1", Splice: true, Transport: inprocess.Transport{Handler: desk(t, small, 1)}})
	all, err := play(t.Context(), c, 48, 100)
	if !errors.Is(err, endpoint.ErrContextLimit) || rl.KindOf(err) != rl.Refused || len(all) < 10 {
		t.Fatalf("after %d turns: %v", len(all), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := play(ctx, c, 48, 1); rl.KindOf(err) != rl.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	q := policy.Request{Model: "run@000009", Messages: []rl.Message{{Role: rl.User, Content: "hello"}}}
	if _, err := c.Act(t.Context(), q); rl.KindOf(err) != rl.Refused {
		t.Fatal(err)
	}
}
