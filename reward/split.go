package reward

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// charsPerToken is how many characters of a prompt are counted as one token. English has about four, JSON and ids three.
const charsPerToken = 3

// pass asks about all attempts; verdicts are by attempt. A group that does not fit the judge's context in one call is asked
// about in parts. All parts share two attempts, the anchors, by whose scores the parts are brought to the first one's scale.
func (p *panel) pass(ctx context.Context, order []int, seed uint64) ([]verdict, error) {
	parts, err := p.parts(order)
	if err != nil {
		return nil, err
	}
	if len(parts) > 1 {
		p.note(fmt.Sprintf("the group did not fit the judge's context: it was judged in %d parts that share two attempts", len(parts)))
	}
	out := make([]verdict, len(p.brief.attempts))
	var first []verdict // of the anchors
	for i, part := range parts {
		found, err := p.compare(ctx, part, rl.Seed(seed, "part", i))
		if err != nil {
			return nil, err
		}
		at := map[int]verdict{}
		for k, attempt := range part {
			at[attempt] = found[k]
		}
		anchors := p.anchors(order)
		own := []verdict{at[anchors[0]], at[anchors[1]]}
		if i == 0 {
			first = own
		}
		for _, attempt := range part {
			if i > 0 && slices.Contains(anchors, attempt) {
				continue
			}
			v := at[attempt]
			if i > 0 {
				v.score = onScale(v.score, own, first)
			}
			out[attempt] = v
		}
	}
	return out, nil
}

// note adds a note once.
func (p *panel) note(words string) {
	if !slices.Contains(p.notes, words) {
		p.notes = append(p.notes, words)
	}
}

// onScale brings a score of one part to the scale of the first: by the straight line through the anchors where the part tells
// them apart, else by their mean difference. It stays in [0,1].
func onScale(score float64, own, first []verdict) float64 {
	a, b, x, y := own[0].score, own[1].score, first[0].score, first[1].score
	slope := 1.0
	if d := a - b; math.Abs(d) >= leastGap && (x-y)/d > 0 {
		slope = (x - y) / d
	}
	return min(1, max(0, (x+y)/2+float64(slope*(score-(a+b)/2))))
}

// leastGap is how far apart a part must put the anchors for its scale to be read from them.
const leastGap = .1

// anchors are the two shortest attempts, the first in order among equals.
func (p *panel) anchors(order []int) []int {
	by := slices.Clone(order)
	slices.SortStableFunc(by, func(a, b int) int {
		return cmp.Compare(len(p.brief.attempts[a].text), len(p.brief.attempts[b].text))
	})
	return by[:2]
}

// parts cuts an order into as few calls as the context allows, the anchors in each, at the places that they have in the order.
// The error is endpoint.ErrContextLimit when some attempt does not fit even so.
func (p *panel) parts(order []int) ([][]int, error) {
	if p.config.Context == 0 || p.length(order) <= p.room() {
		return [][]int{order}, nil
	}
	anchors := p.anchors(order)
	var parts [][]int
	part := slices.Clone(anchors)
	for _, k := range order {
		if slices.Contains(anchors, k) {
			continue
		}
		if len(part) > len(anchors) && p.length(append(slices.Clone(part), k)) > p.room() {
			parts, part = append(parts, part), slices.Clone(anchors)
		}
		part = append(part, k)
		if p.length(part) > p.room() {
			return nil, rl.Errorf(rl.Refused, "judge", "%w: an attempt of %d characters and the two that it is compared with do not fit into %d tokens",
				endpoint.ErrContextLimit, len(p.brief.attempts[k].text), p.config.Context)
		}
	}
	if len(part) == len(anchors) {
		return nil, rl.Errorf(rl.Refused, "judge", "%w: the two attempts to be compared do not fit into %d tokens", endpoint.ErrContextLimit, p.config.Context)
	}
	parts = append(parts, part)
	for i := range parts {
		slices.SortFunc(parts[i], func(a, b int) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
	}
	return parts, nil
}

// room is what a prompt may be long, in characters.
func (p *panel) room() int { return max(0, p.config.Context-p.config.ReplyTokens) * charsPerToken }

// length is what a question about some attempts is long, in characters.
func (p *panel) length(order []int) (n int) {
	for _, m := range p.brief.messages(p.config, order, opaque(len(order), 0)) {
		n += len(m.Content)
	}
	return n
}
