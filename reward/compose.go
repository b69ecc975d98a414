package reward

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// New makes the reward that a configuration asks for: use's, behind the gate if there is one, plus the weighted sum of those
// under add. Where more than one takes part, each is kept beside the total in the score's metrics, as reward_NAME; a member
// that one of them does not score is unscored.
//
// The error is of kind Invalid, for a name that is not registered.
func New(p Parts) (Reward, error) {
	use := p.Config.Use
	main, err := get(use, p)
	if err != nil {
		return nil, err
	}
	if p.Config.Gate != "" {
		gate, err := get(p.Config.Gate, p)
		if err != nil {
			return nil, err
		}
		main = gated(main, term{name: p.Config.Gate, reward: gate}, use == "judge")
	}
	terms := []term{{use, 1, main}}
	for _, add := range p.Config.Add.Terms() {
		r, err := get(add.Name, p)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term{add.Name, add.Weight, r})
	}
	if len(terms) == 1 {
		return main, nil
	}
	return sum(terms), nil
}

type term struct {
	name   string
	weight float64
	reward Reward
}

// sum is the weighted sum of rewards. A judge that found no difference (Flat) stays so only where nothing else makes one.
func sum(terms []term) Reward {
	return func(ctx context.Context, g rl.Group) (rl.Scores, error) {
		out := rl.Scores{Scores: make([]rl.Score, len(g.Trajectories))}
		for k, t := range terms {
			part, err := t.reward(ctx, g)
			if err != nil {
				return rl.Scores{}, err
			}
			for i, s := range part.Scores {
				out.Scores[i] = plus(out.Scores[i], s, t, k == 0)
			}
			out.Notes = append(out.Notes, part.Notes...)
			out.Spent.Add(part.Spent)
			if part.Flat != "" {
				out.Flat = part.Flat
			}
		}
		if out.Flat != "" && !alike(out.Scores) {
			out.Notes, out.Flat = append(out.Notes, out.Flat), ""
		}
		return out, nil
	}
}

// plus adds a term to a total. The total keeps the first term's reason and per-turn parts.
func plus(total, s rl.Score, t term, first bool) rl.Score {
	if first {
		total = s
		total.Value, total.Metrics = 0, maps.Clone(s.Metrics)
		if total.Metrics == nil {
			total.Metrics = map[string]float64{}
		}
	}
	switch {
	case !total.Scored():
	case !s.Scored():
		total = rl.Score{Unscored: s.Unscored}
	default:
		total.Value += float64(t.weight * s.Value)
		total.Metrics["reward_"+t.name] = s.Value
	}
	return total
}

// alike reports whether all scored members have one value.
func alike(scores []rl.Score) bool {
	var values []float64
	for _, s := range scores {
		if s.Scored() {
			values = append(values, s.Value)
		}
	}
	return len(values) == 0 || slices.Min(values) == slices.Max(values)
}

// gated lets main tell only those members apart that the gate gives 1 or more. A member that fails the gate scores 0; one that
// passes (1 + main)/2, so that the worst that passes is above all that fail. main must lie in [0,1]. Where main compares, as a
// judge does, and finds nothing to tell those that pass from each other, one alone among them, they score 1: that they pass is all
// that is known. What the gate gave is kept in the score's metrics, as reward_NAME.
func gated(main Reward, gate term, compares bool) Reward {
	return func(ctx context.Context, g rl.Group) (rl.Scores, error) {
		first, err := gate.reward(ctx, g)
		if err != nil {
			return rl.Scores{}, err
		}
		rest := g
		rest.Trajectories, rest.Failed = make([]*rl.Trajectory, len(g.Trajectories)), make([]string, len(g.Trajectories))
		for i, s := range first.Scores {
			if s.Scored() && s.Value >= 1 {
				rest.Trajectories[i] = g.Trajectories[i]
			} else {
				rest.Failed[i] = "it does not pass the gate"
			}
		}
		out, err := main(ctx, rest)
		if err != nil {
			return rl.Scores{}, err
		}
		same := compares && alike(out.Scores)
		for i, s := range first.Scores {
			out.Scores[i] = behind(s, out.Scores[i], gate.name, same)
		}
		out.Spent.Add(first.Spent)
		out.Notes = append(first.Notes, out.Notes...)
		if out.Flat != "" && !alike(out.Scores) {
			out.Notes, out.Flat = append(out.Notes, out.Flat), ""
		}
		return out, nil
	}
}

// behind is a member's score where the gate gave it one and main another; same: main found nothing to tell it from.
func behind(gate, main rl.Score, name string, same bool) rl.Score {
	switch {
	case !gate.Scored():
		return gate
	case gate.Value < 1:
		main = rl.Score{Reason: fmt.Sprintf("it does not pass the gate: %.4g (%s)", gate.Value, gate.Reason)}
	case !main.Scored():
		return main
	case same:
		main.Value = 1
	default:
		main.Value = (1 + main.Value) / 2
	}
	if main.Metrics = maps.Clone(main.Metrics); main.Metrics == nil {
		main.Metrics = map[string]float64{}
	}
	main.Metrics["reward_"+name] = gate.Value
	return main
}
