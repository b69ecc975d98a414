package advantage

import (
	"crypto/sha256"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { register("gigpo", GiGPO) }

// GiGPO makes the estimator of "Group-in-Group Policy Optimization for LLM Agent Training" (Feng et al. 2025,
// arXiv:2505.10978):
//
//	E_i   = (r_i - mean(r)) / F(r), over i's group
//	G_i,t = the discounted return from turn t on (see returns)
//	S_i,t = (G_i,t - mean(G)) / F(G), over the turns of the group that were taken in the state of i's turn t
//	A_i,t = E_i + step_weight S_i,t
//
// Members of a group often come by the same state, its anchor; what they did there is compared as if it had been sampled
// there. F is the deviation plus epsilon, or 1 with std: none; the paper has both, step_weight 1 and gamma .95.
//
// The state of a turn is known by what was observed in it: role and content of the messages that are new in it, exactly, as in
// the authors' code, which compares the environment's latest observation. What was seen earlier is not compared, or hardly
// two turns would be in one state; so two states that look alike are taken for one, which suits environments whose results show
// the state (a page, a room, a board) and not those that answer "ok". A member that comes by a state twice is in it twice.
// Unlike the authors' default, but as their paper has it, mean(r) counts each member once, not once a turn.
//
// Assumes that the members of a group start in one state, were sampled independently from one policy, and that what follows
// a state does not depend on how it was reached.
//
// Degenerate: a state that was seen once, or whose returns lie within Tolerance, adds 0. One member gives 0 (singleton);
// members that no score and no state distinguishes give exactly 0 (zero_variance).
func GiGPO(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	return groupwise(c, func(group []Member) [][]float64 {
		episode := d.normalised(scores(group))
		differs := episode != nil
		if !differs {
			episode = make([]float64, len(group))
		}
		out := spread(episode, group)
		for _, anchor := range anchors(group, c.Gamma) {
			for k, s := range d.normalised(anchor.returns) {
				at := anchor.turns[k]
				out[at.member][at.turn] += float64(c.StepWeight * s)
				differs = true
			}
		}
		if !differs {
			return nil
		}
		return out
	}), nil
}

// anchor is the turns of a group that were taken in one state, and their returns.
type anchor struct {
	turns   []place
	returns []float64
}

type place struct{ member, turn int }

// anchors groups the turns of all members by state, in the order in which the states are met.
func anchors(group []Member, gamma float64) (out []*anchor) {
	known := map[[sha256.Size]byte]*anchor{}
	for i, m := range group {
		for t, g := range toGo(m, gamma) {
			key := state(m.Turns[t].Observation)
			a := known[key]
			if a == nil {
				a = &anchor{}
				known[key], out = a, append(out, a)
			}
			a.turns, a.returns = append(a.turns, place{i, t}), append(a.returns, g)
		}
	}
	return out
}

// state is the digest of what was observed. The ids of calls are the model's own, and are left out.
func state(o rl.Observation) [sha256.Size]byte {
	seen := make([]rl.Message, len(o.Messages))
	for i, m := range o.Messages {
		seen[i] = rl.Message{Role: m.Role, Content: m.Content}
	}
	return sha256.Sum256(rl.CanonicalJSON(seen))
}
