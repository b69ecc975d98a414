package reward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
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

// maxAsks bounds how often one comparison is asked for.
const maxAsks = 3

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

// unreadable says that a judge did not give what was asked for, however often it was asked.
type unreadable struct{ cause error }

func (u *unreadable) Error() string { return u.cause.Error() }

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

// fill gives the members their scores from the passes' verdicts.
func (p *panel) fill(out *rl.Scores, passes [][]verdict) {
	n := len(p.brief.attempts)
	means := make([]float64, n)
	for k := range n {
		scores := make([]float64, len(passes))
		for i, v := range passes {
			scores[i] = v[k].score
		}
		slices.Sort(scores) // so that the same scores in other passes are a tie to the last bit
		means[k] = mean(scores)
	}
	out.Flat = p.flat(passes, means)
	for k, a := range p.brief.attempts {
		s := rl.Score{Value: means[k], Reason: passes[0][k].reason, Turns: meanTurns(passes, k)}
		if len(passes) > 1 {
			s.Metrics = map[string]float64{}
			for i, v := range passes {
				s.Metrics[fmt.Sprintf("judge_pass_%d", i+1)] = v[k].score
			}
		}
		if out.Flat != "" {
			s.Value = mean(means)
		}
		for _, i := range a.members {
			out.Scores[i] = s
		}
	}
}

// flat says that the attempts differ no more than the passes do, by a one-way analysis of variance with attempts as groups and
// passes as repetitions: with b = P sum (mean_k - mean)^2 / (n-1) between and w = sum (s_pk - mean_k)^2 / (n (P-1)) within,
// b = w is what chance alone gives, and the group is flat when b <= dead_band^2 w.
func (p *panel) flat(passes [][]verdict, means []float64) string {
	count, n := float64(len(passes)), float64(len(means))
	if len(passes) < 2 || p.config.DeadBand == 0 {
		return ""
	}
	between, within, all := 0.0, 0.0, mean(means)
	for k, m := range means {
		between += float64((m - all) * (m - all))
		for _, v := range passes {
			within += float64((v[k].score - m) * (v[k].score - m))
		}
	}
	between, within = count*between/(n-1), within/(n*(count-1))
	if within == 0 || between > float64(p.config.DeadBand*p.config.DeadBand)*within {
		return ""
	}
	return fmt.Sprintf("the attempts differ by %.3f, the passes by %.3f (standard deviations of a score): no more than chance allows for", math.Sqrt(between), math.Sqrt(within))
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x
	}
	return m / float64(len(v))
}

// meanTurns is an attempt's contributions by turn, over the passes.
func meanTurns(passes [][]verdict, k int) []float64 {
	if passes[0][k].turns == nil {
		return nil
	}
	out := make([]float64, len(passes[0][k].turns))
	for _, v := range passes {
		for t, x := range v[k].turns {
			out[t] += x / float64(len(passes))
		}
	}
	return out
}
