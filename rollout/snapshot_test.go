package rollout

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	_ "github.com/longhaul-rl/longhaul/envs/sqlite"
	"github.com/longhaul-rl/longhaul/rl"
)

// tallied counts what an environment is asked for.
type tallied struct {
	envs.Env
	resets, restores, steps int
}

func (c *tallied) Reset(ctx context.Context, t rl.Task) (rl.Observation, error) {
	c.resets++
	return c.Env.Reset(ctx, t)
}

func (c *tallied) Restore(ctx context.Context, b []byte) error {
	c.restores++
	return c.Env.Restore(ctx, b)
}

func (c *tallied) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	c.steps++
	return c.Env.Step(ctx, call)
}

// hesitant does what the reference does, with other calls before each of its calls: reads, changes of an order, nonsense.
func hesitant(w envs.World, task rl.Task) func(asked) wireMessage {
	play := w.Reference(task)
	return func(q asked) wireMessage {
		rng := rand.New(rand.NewPCG(q.Seed, 0))
		_, ticket, _ := strings.Cut(q.Messages[1].Content, "\n") // after the day
		var done []rl.Message                                    // what the reference has done so far
		for _, m := range q.Messages {
			if m.Role == rl.Assistant && len(m.ToolCalls) > 0 && m.Content != "first" {
				done = append(done, rl.Message{Role: rl.Assistant})
			}
		}
		next := play(done).ToolCalls[0]
		order := `{"order":"` + fourDigits.FindString(ticket) + `"`
		switch rng.IntN(4) {
		case 0:
			return says("", next.Name, string(next.Arguments))
		case 1:
			return says("first", "show_order", order+"}", "give_voucher", order+`,"dollars":7}`)
		case 2:
			return says("first", "move_order", order+`,"address":"1 <Wrong> Way"}`)
		}
		return says("first", "track_order", order+",", "find_customer", `{"email":7}`)
	}
}

// fourDigits is the first order's number in a ticket, or none.
var fourDigits = regexp.MustCompile(`\b[0-9]{4}\b`)

// An episode of a world with snapshots goes on from the newest one on record: the same bytes, without playing what came before.
func TestEpisodesGoOnFromSnapshots(t *testing.T) {
	world, err := envs.Open(t.Context(), rl.EnvConfig{Use: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	restored := 0
	for i := range 12 {
		o := options()
		o.Task, o.Seed, o.MaxTurns = world.Task(rl.Train, 12*i), uint64(i), 30
		p := client(scripted(hesitant(world, o.Task)))
		journal := journalled(&o)
		whole, err := Run(t.Context(), world.New(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, len(*journal) / 2, len(*journal) - 1, len(*journal)} {
			o, again := o, &tallied{Env: world.New()}
			o.Recorded = throughJSON(t, (*journal)[:k])
			rest := journalled(&o)
			resumed, err := Run(t.Context(), again, p, o)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := rl.CanonicalJSON(whole), rl.CanonicalJSON(resumed); string(a) != string(b) {
				t.Fatalf("task %d from turn %d:\n%s\nis not\n%s", i, k, b, a)
			}
			for n, r := range *rest { // snapshots, too
				if a, b := rl.CanonicalJSON((*journal)[k+n]), rl.CanonicalJSON(r); string(a) != string(b) {
					t.Fatalf("task %d from turn %d: turn %d is recorded as\n%s\nnot\n%s", i, k, k+n, b, a)
				}
			}
			if again.restores > 0 {
				restored++
			}
			if (k > snapshotEvery) != (again.restores == 1 && again.resets == 0) {
				t.Errorf("task %d from turn %d: %d restores, %d resets", i, k, again.restores, again.resets)
			}
			again.Close()
		}
	}
	if restored < 12 {
		t.Errorf("only %d episodes went on from a snapshot", restored)
	}
}
