package reward

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// maxAsks bounds how often one comparison is asked for.
const maxAsks = 3

// unreadable says that a judge did not give what was asked for, however often it was asked.
type unreadable struct{ cause error }

func (u *unreadable) Error() string { return u.cause.Error() }

// compare asks about some attempts, in this order, until the reply can be read.
func (p *panel) compare(ctx context.Context, order []int, seed uint64) ([]verdict, error) {
	ids := opaque(len(order), seed)
	q := Question{
		Prompt: promptVersion, Model: p.config.Model, Messages: p.brief.messages(p.config, order, ids), IDs: sorted(ids),
		PerTurn: p.config.PerTurn == "asked", Temperature: p.config.Temperature, MaxTokens: p.config.ReplyTokens, Seed: seed,
	}
	turns := map[string]int(nil)
	if q.PerTurn {
		turns = map[string]int{}
		for i, k := range order {
			turns[ids[i]] = p.brief.attempts[k].turns
		}
	}
	for asked := 1; ; asked++ {
		reply, err := p.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		p.spent.Add(reply.Spent)
		found, err := p.read(reply, ids, turns)
		if err == nil {
			out := make([]verdict, len(order))
			for i := range order {
				out[i] = found[ids[i]]
			}
			return out, nil
		}
		if asked == maxAsks {
			return nil, &unreadable{fmt.Errorf("no valid reply in %d asks; of the last one: %w", asked, err)}
		}
		p.notes = append(p.notes, "the judge was asked again: "+cut(err.Error(), maxReason))
		q.Messages = append(slices.Clip(q.Messages),
			rl.Message{Role: rl.Assistant, Content: cmp.Or(cut(reply.Text, maxRepeated), "(nothing)")}, // servers refuse an empty message
			rl.Message{Role: rl.User, Content: "This is not a valid reply: " + cut(err.Error(), maxRepeated) + ". Reply again, with JSON only, with every id exactly once and every score a number from 0 to 1."})
	}
}

// maxRepeated bounds what of a bad reply is sent back, in bytes.
const maxRepeated = 4000

// read takes the verdicts from a whole reply. One that was cut off may hold a draft, which is no verdict.
func (p *panel) read(reply Reply, ids []string, turns map[string]int) (map[string]verdict, error) {
	found, err := verdicts(reply.Text, ids, turns)
	switch {
	case reply.Finish == "length" && err != nil:
		return nil, fmt.Errorf("the reply was cut off after %d tokens: %w", p.config.ReplyTokens, err)
	case reply.Finish == "length":
		return nil, fmt.Errorf("the reply was cut off after %d tokens", p.config.ReplyTokens)
	case err != nil:
		return nil, err
	}
	return found, p.distinct(found)
}

// distinct refuses ties where they are refused.
func (p *panel) distinct(found map[string]verdict) error {
	if p.config.Ties != "forced" {
		return nil
	}
	by := map[float64]string{}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if other, tie := by[found[id].score]; tie {
			return fmt.Errorf("ids %q and %q have the same score", other, id)
		}
		by[found[id].score] = id
	}
	return nil
}

// opaque are n ids that say nothing about order or number, distinct.
func opaque(n int, seed uint64) []string {
	const letters, digits = "BCDFGHJKLMNPQRSTVWXZ", "23456789"
	r := rand.New(rand.NewPCG(seed, 1))
	ids := make([]string, 0, n)
	for len(ids) < n {
		id := string(letters[r.IntN(len(letters))]) + string(digits[r.IntN(len(digits))])
		if n > 40 {
			id = string(letters[r.IntN(len(letters))]) + string(letters[r.IntN(len(letters))]) + id[1:]
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
