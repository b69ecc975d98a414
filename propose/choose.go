package propose

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// quota is how many tasks of a difficulty there are to be.
func (p *proposer) quota(d difficulty) int {
	n, i := len(difficulties), slices.Index(difficulties, d)
	return (p.Tasks + n - 1 - i) / n
}

// wanted is the difficulty of which most is missing.
func (p *proposer) wanted() difficulty {
	return slices.MaxFunc(difficulties, func(a, b difficulty) int {
		return cmp.Compare(p.quota(a)-p.report.ByKind[a.name], p.quota(b)-p.report.ByKind[b.name])
	})
}

// focus are the tools that tasks have made the least use of, three at most.
func (p *proposer) focus() (names []string) {
	order := rand.New(rand.NewPCG(p.Seed, p.asked)).Perm(len(p.spec.Tools))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.used[p.spec.Tools[a].Name], p.used[p.spec.Tools[b].Name]) })
	for _, i := range order[:min(3, len(order))] {
		names = append(names, p.spec.Tools[i].Name)
	}
	return names
}

// goals are the newest goals.
func (p *proposer) goals() (goals []string) {
	for _, t := range p.tasks[max(0, len(p.tasks)-shown):] {
		goals = append(goals, t.Goal)
	}
	return goals
}

// names are the tools'.
func (p *proposer) names() (names []string) {
	for _, t := range p.spec.Tools {
		names = append(names, t.Name)
	}
	return names
}
