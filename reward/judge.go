package reward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

func init() {
	Register("judge", func(p Parts) Reward { return (&judge{p.Config, p.Seed, p.Ask}).score })
}

// Question is one call of a judge: all that its answer depends on. Its canonical JSON is its identity.
type Question struct {
	Prompt      int          `json:"prompt"` // promptVersion
	Model       string       `json:"model"`
	Messages    []rl.Message `json:"messages"`
	IDs         []string     `json:"ids"` // sorted; what the reply must have
	PerTurn     bool         `json:"per_turn,omitempty"`
	Temperature float64      `json:"temperature"`
	MaxTokens   int          `json:"max_tokens"`
	Seed        uint64       `json:"seed"`
	// Form is the JSON schema of the reply, of a question that is no judge's. Nil: that of scores.
	Form json.RawMessage `json:"form,omitempty"`
}

// Reply is what a judge answered, and what it took.
type Reply struct {
	Text   string   `json:"text"`
	Finish string   `json:"finish"` // finish_reason
	Model  string   `json:"model"`  // the model that answered, as the server names it
	Spent  rl.Spent `json:"spent"`
}

// Ask asks a judge. Errors are *rl.Error, of endpoint's kinds; endpoint.ErrContextLimit and ErrConversation are about this
// question alone.
type Ask func(context.Context, Question) (Reply, error)

// judge compares the trajectories of a group, all of them in one call, as RULER does (OpenPipe ART): relative scores of an LLM
// are reliable where absolute ones are not. For each pass the members are told in a shuffled order under ids that mean
// nothing; every second pass has the order of the one before reversed, which cancels a preference for early or late places.
// The score of a member is the mean over the passes.
//
// A reply that cannot be read is asked for again, naming what was wrong, maxAsks times in all; then all members are
// unscored. Members that read alike are one attempt and get one score. Where only one attempt is left there is nothing to
// compare: nobody is asked.
type judge struct {
	config rl.RewardConfig
	seed   uint64
	ask    Ask
}

// nobody is the score of members whom there is nothing to tell from.
const nobody = .5

func (j *judge) score(ctx context.Context, g rl.Group) (rl.Scores, error) {
	out := rl.Scores{Scores: make([]rl.Score, len(g.Trajectories))}
	var members []int
	for i, t := range g.Trajectories {
		if t == nil {
			out.Scores[i] = failed(g, i)
		} else {
			members = append(members, i)
		}
	}
	if len(members) == 0 {
		return out, nil
	}
	p := panel{judge: j, brief: briefOf(j.config, g, members, j.config.ResultChars)}
	if len(p.brief.attempts) == 1 {
		for _, i := range members {
			out.Scores[i] = rl.Score{Value: nobody, Reason: "there is no other attempt to compare it with"}
		}
		return out, nil
	}
	passes, err := p.passes(ctx, g, members)
	out.Spent, out.Notes = p.spent, p.notes
	if why, ok := errors.AsType[*unreadable](err); ok || errors.Is(err, endpoint.ErrContextLimit) || errors.Is(err, endpoint.ErrConversation) {
		if !ok {
			why = &unreadable{err}
		}
		for _, i := range members {
			out.Scores[i] = rl.Score{Unscored: "judge: " + why.Error()}
		}
		return out, nil
	}
	if err != nil {
		return rl.Scores{}, err
	}
	p.fill(&out, passes)
	return out, nil
}

// panel is the work on one group.
type panel struct {
	*judge
	brief brief
	spent rl.Spent
	notes []string
}

// passes asks for every pass; verdicts are by attempt. A group that does not fit the judge's context with results as long as
// they may be is told again with shorter ones before it is given up.
func (p *panel) passes(ctx context.Context, g rl.Group, members []int) (out [][]verdict, err error) {
	for results := p.config.ResultChars; ; results /= 2 {
		out, err = p.eachPass(ctx)
		if !errors.Is(err, endpoint.ErrContextLimit) || results/2 < leastResult {
			return out, err
		}
		shorter := briefOf(p.config, g, members, results/2)
		if len(shorter.attempts) == 1 {
			return out, err // what tells them apart would be cut
		}
		p.note(fmt.Sprintf("tool results are cut to %d bytes: the group did not fit the judge's context", results/2))
		p.brief = shorter
	}
}

// leastResult is the shortest that results are cut to, in bytes.
const leastResult = 200

func (p *panel) eachPass(ctx context.Context) (out [][]verdict, err error) {
	var order []int
	for pass := range max(p.config.Passes, 1) {
		seed := rl.Seed(p.seed, "judge", p.brief.fence(), pass)
		if pass%2 == 1 {
			order = slices.Clone(order)
			slices.Reverse(order)
		} else {
			order = p.order(seed)
		}
		v, err := p.pass(ctx, order, seed)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// order is a permutation of the attempts.
func (p *panel) order(seed uint64) []int {
	n := len(p.brief.attempts)
	if p.config.Order == "fixed" {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		return order
	}
	return rand.New(rand.NewPCG(seed, seed)).Perm(n)
}
