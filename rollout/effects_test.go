package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// shop has a tool of every effect; each says how often it was executed, and remembers the keys.
type shop struct {
	*stage
	local int            // the episode's state
	sent  map[string]int // the outside: how often a call reached it, by key
	dies  string         // the tool whose call is executed, and its answer lost
}

var errKilled = errors.New("killed")

func newShop(outside map[string]int) *shop {
	s := &shop{sent: outside}
	object := json.RawMessage(`{"type":"object"}`)
	s.stage = &stage{spec: envs.Spec{Tools: []envs.Tool{
		{Tool: rl.Tool{Name: "look", Parameters: object}, Effect: envs.Pure},
		{Tool: rl.Tool{Name: "put", Parameters: object}, Effect: envs.EpisodeLocal},
		{Tool: rl.Tool{Name: "mail", Parameters: object}, Effect: envs.ExternalIdempotent},
		{Tool: rl.Tool{Name: "pay", Parameters: object}, Effect: envs.ExternalOnce},
		{Tool: rl.Tool{Name: "end", Parameters: object}},
	}}}
	s.step = func(_ context.Context, call envs.Call) (envs.Result, error) {
		r := envs.Result{Content: call.Name, Reward: 1}
		switch call.Name {
		case "put":
			s.local++
			r.Content = fmt.Sprint("put ", s.local)
		case "mail", "pay":
			s.sent[call.Key]++
		case "end":
			r.Done = true
		}
		if call.Name == s.dies {
			return envs.Result{}, errKilled
		}
		return r, nil
	}
	return s
}

// called lists the tools that were executed.
func (s *shop) called() (names []string) {
	for _, c := range s.calls {
		names = append(names, c.Name)
	}
	return names
}

// An episode is interrupted while a call is out. What is done with the calls before it and with itself follows from
// their effects.
func TestEffectsAfterAnInterruption(t *testing.T) {
	says := func(tools ...string) wireMessage {
		var calls []string
		for _, tool := range tools {
			calls = append(calls, tool, "{}")
		}
		return says("", calls...)
	}
	first, second := says("look", "put", "mail", "pay"), says("put", "look", "mail", "pay")
	for _, c := range []struct {
		dies    string
		play    []wireMessage
		outcome func(context.Context, envs.Call) (envs.Result, bool, error)
		again   []string // executed by the resumed episode
		err     error
	}{
		{dies: "end", play: []wireMessage{first, says("end")}, again: []string{"put", "end"}},
		{dies: "look", play: []wireMessage{first, says("look"), says("end")}, again: nil}, // dies in the first turn
		{dies: "mail", play: []wireMessage{says("put"), says("put", "mail"), says("end")}, again: []string{"put", "put", "mail", "end"}},
		{dies: "pay", play: []wireMessage{says("put", "mail"), second, says("end")}, err: ErrUncertain, again: []string{"put", "put", "look"}},
		{dies: "pay", play: []wireMessage{says("put"), second, says("end")}, outcome: func(context.Context, envs.Call) (envs.Result, bool, error) {
			return envs.Result{Content: "pay", Reward: 1}, true, nil
		}, again: []string{"put", "put", "look", "end"}},
		{dies: "pay", play: []wireMessage{says("put"), second, says("end")}, outcome: func(context.Context, envs.Call) (envs.Result, bool, error) {
			return envs.Result{}, false, nil
		}, again: []string{"put", "put", "look", "pay", "end"}},
	} {
		name := c.dies
		if c.outcome != nil {
			name += ", asked"
		}
		t.Run(name, func(t *testing.T) {
			p := client(scripted(inTurn(c.play...)))
			o := options()
			whole := mustRun(t, newShop(map[string]int{}), p, o)

			outside := map[string]int{}
			journal := journalled(&o)
			broken := newShop(outside)
			broken.dies = c.dies
			if _, err := Run(t.Context(), broken, p, o); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			o.Recorded = *journal
			resumed := newShop(outside)
			for i := range resumed.spec.Tools {
				if resumed.spec.Tools[i].Name == "pay" {
					resumed.spec.Tools[i].Outcome = c.outcome
				}
			}
			got, err := Run(t.Context(), resumed, p, o)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if c.again != nil && !slices.Equal(resumed.called(), c.again) {
				t.Errorf("executed %v, want %v", resumed.called(), c.again)
			}
			for key, n := range outside {
				pays := slices.ContainsFunc(append(broken.calls, resumed.calls...), func(c envs.Call) bool { return c.Key == key && c.Name == "pay" })
				if pays && n > 1 && c.outcome == nil {
					t.Errorf("%s was paid %d times", key, n)
				}
			}
			if c.err == nil && string(rl.CanonicalJSON(got)) != string(rl.CanonicalJSON(whole)) {
				t.Errorf("%s\nis not\n%s", rl.CanonicalJSON(got), rl.CanonicalJSON(whole))
			}
		})
	}
}

// Keys name a call the same in every attempt, and no two calls alike.
func TestCallKeys(t *testing.T) {
	outside := map[string]int{}
	mustRun(t, newShop(outside), client(scripted(inTurn(says("", "mail", "{}", "mail", "{}"), says("", "mail", "{}"), says("", "end", "{}")))), options())
	for _, key := range []string{"r/1/train-1/0/0/0", "r/1/train-1/0/0/1", "r/1/train-1/0/1/0"} {
		if outside[key] != 1 {
			t.Errorf("%s: %v", key, outside)
		}
	}
}

func TestRepeatable(t *testing.T) {
	spec := newShop(nil).spec
	did := func(tool string) []rl.Recorded {
		return []rl.Recorded{{Turn: rl.Turn{Action: rl.Action{Message: rl.Message{ToolCalls: []rl.ToolCall{{Name: tool}}}}}}}
	}
	for tool, want := range map[string]bool{"look": true, "put": true, "mail": true, "pay": false, "none": true} {
		if got := Repeatable(spec, did(tool)); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
}

// A long episode goes on from its newest snapshot: the environment is neither reset nor played the turns before it.
func TestResumeFromSnapshot(t *testing.T) {
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Task, o.MaxTurns = world.Task(rl.Train, 3), 20
	p := client(scripted(inTurn(says("", "find_order", `{"order":"00"}`))))
	recorded := journalled(&o)
	whole := mustRun(t, world.New(), p, o)
	journal := *recorded
	o.Record = nil
	if n := len(journal); n != 20 || journal[8].Snapshot == nil || journal[16].Snapshot == nil || journal[7].Snapshot != nil {
		t.Fatal(n, "turns")
	}
	for k := range len(journal) + 1 {
		o.Recorded = throughJSON(t, journal[:k])
		seen := &counting{Env: world.New()}
		got := mustRun(t, seen, p, o)
		if string(rl.CanonicalJSON(got)) != string(rl.CanonicalJSON(whole)) {
			t.Fatalf("resumed at %d: %s", k, rl.CanonicalJSON(got))
		}
		if from := max(0, k-1) / 8 * 8; seen.steps != 20-from || seen.resets != (map[bool]int{true: 1})[from == 0] {
			t.Errorf("resumed at %d: %d steps, %d resets", k, seen.steps, seen.resets)
		}
	}
	// A snapshot that cannot be read costs a replay, nothing more.
	o.Recorded = throughJSON(t, journal)
	o.Recorded[8].Snapshot, o.Recorded[16].Snapshot = []byte("rot"), []byte("{}")
	if got := mustRun(t, world.New(), p, o); string(rl.CanonicalJSON(got)) != string(rl.CanonicalJSON(whole)) {
		t.Error(strings.TrimSpace(string(rl.CanonicalJSON(got))))
	}
}

type counting struct {
	envs.Env
	resets, steps int
}

func (c *counting) Reset(ctx context.Context, task rl.Task) (rl.Observation, error) {
	c.resets++
	return c.Env.Reset(ctx, task)
}

func (c *counting) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	c.steps++
	return c.Env.Step(ctx, call)
}
