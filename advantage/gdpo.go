package advantage

import "github.com/longhaul-rl/longhaul/rl"

func init() { register("gdpo", GDPO) }

// Component is one of the rewards that a score is the weighted sum of.
type Component struct {
	Name          string
	Value, Weight float64
}

// components are those of a score that its reward kept beside the total, as metrics reward_NAME.
func components(s rl.Score, r rl.RewardConfig) (out []Component) {
	for _, t := range append([]rl.Weighted{{Name: r.Use, Weight: 1}}, r.Add.Terms()...) {
		if v, ok := s.Metrics["reward_"+t.Name]; ok && rl.Countable(v) {
			out = append(out, Component{t.Name, v, t.Weight})
		}
	}
	return out
}

// GDPO makes the estimator of "GDPO: Group reward-Decoupled Normalization Policy Optimization for Multi-reward RL
// Optimization" (Liu et al. 2026, arXiv:2601.05242), for a reward of several components k with weights w_k:
//
//	a_ik = (r_ik - mean(r_k)) / (std(r_k) + epsilon), over i's group
//	a_i  = sum over k of w_k a_ik
//	A_i  = (a_i - mean(a)) / (std(a) + epsilon), over the members of the update's batch
//
// Summing first, as grpo does, gives members with different components the same advantage where the sums agree, and lets the
// component with the largest spread decide; here each counts by its weight. The last line keeps the scale from growing with
// the number of components. The formula is that of TRL's multi_objective_aggregation "normalize_then_sum"; verl's gdpo takes
// the last line over tokens. A score with a single component is its own (reward_NAME metrics are kept where there are several).
//
// Assumes that the members of a group were sampled independently from one policy on one task.
//
// Degenerate: a component within Tolerance in a group adds 0 there, and one that a member lacks adds 0 for the member. One
// member gives 0 (singleton); a group in which no component differs gives exactly 0 (zero_variance), and so does an update
// in which all sums are alike. Such groups take no part in the last line unless they are kept.
func GDPO(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	decoupled := groupwise(c, func(group []Member) [][]float64 { return spread(sumOfParts(group, d), group) })
	return func(groups [][]Member) []Estimate {
		return batchwise(c, d, groups, decoupled(groups), func(Member) float64 { return 1 })
	}, nil
}

// sumOfParts normalises each component over the members that have it, and adds the weighted results up; nil when no component
// differs.
func sumOfParts(group []Member, d divisor) []float64 {
	parts := map[string]*part{}
	var names []string
	for i, m := range group {
		own := m.Components
		if len(own) == 0 {
			own = []Component{{Value: m.Score.Value, Weight: 1}}
		}
		for _, component := range own {
			p := parts[component.Name]
			if p == nil {
				p = &part{weight: component.Weight}
				parts[component.Name], names = p, append(names, component.Name)
			}
			p.members, p.values = append(p.members, i), append(p.values, component.Value)
		}
	}
	var sum []float64
	for _, name := range names {
		p := parts[name]
		normal := d.normalised(p.values)
		if normal != nil && sum == nil {
			sum = make([]float64, len(group))
		}
		for k, a := range normal {
			sum[p.members[k]] += float64(p.weight * a)
		}
	}
	return sum
}

// part is one component in a group: who has it, and what.
type part struct {
	weight  float64
	members []int
	values  []float64
}
