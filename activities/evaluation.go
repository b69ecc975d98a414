package activities

import (
	"context"
	"math"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// ScoreEvaluationIn names the played tasks.
type ScoreEvaluationIn struct {
	Stage
	Tasks rl.Ref `json:"tasks"`
}

// ScoreEvaluationOut is the result; the stored one has more.
type ScoreEvaluationOut struct {
	Evaluation rl.Ref  `json:"evaluation"`
	Greedy     rl.Rate `json:"greedy"`
	Sampled    rl.Rate `json:"sampled"`
}

// ScoreEvaluation counts the successes of an evaluation (the environment's own score, 1 and above) and records
// them with 95 % intervals. Episodes that failed or have no score are left out of the rates and
// counted apart, by their reason.
func (a *Activities) ScoreEvaluation(ctx context.Context, in ScoreEvaluationIn) (ScoreEvaluationOut, error) {
	defer beat(ctx)()
	out, err := a.scoreEvaluation(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) scoreEvaluation(ctx context.Context, in ScoreEvaluationIn) (out ScoreEvaluationOut, err error) {
	st, cfg, all, err := a.openTasks(ctx, in.Stage, in.Tasks)
	if err != nil {
		return out, err
	}
	e := rl.Evaluation{
		Schema: rl.EvaluationSchema, Run: in.Run, Version: rl.VersionOf(in.Run, in.Update), Key: in.Evaluation, Tasks: len(all),
		ByKind: map[string]rl.Rate{}, Failed: map[rl.LeftOut]int{}, Metrics: map[string]float64{},
	}
	if unversioned(cfg) {
		e.Model = cfg.Policy.Model
	}
	for _, task := range all {
		g, err := a.readGroup(ctx, st, in.Stage, task, len(plays))
		if err != nil {
			return out, err
		}
		for m, t := range g.Trajectories {
			switch {
			case t == nil:
				e.Failed[rl.LeftOutOf(g.Failed[m], rl.EnvFailed)]++
			case !t.Outcome.Scored():
				e.Failed[rl.LeftOutOf(t.Outcome.Unscored, rl.Unscored)]++
			default:
				count(&e, m, t)
			}
		}
	}
	for _, name := range []string{"turns", "tokens"} {
		e.Metrics[name] /= float64(max(1, e.Sampled.Of))
	}
	e.Greedy, e.Sampled = wilson(e.Greedy), wilson(e.Sampled)
	for kind, r := range e.ByKind {
		e.ByKind[kind] = wilson(r)
	}
	ref, e, err := store.PutJSON(ctx, st, store.EvaluationKey(in.Run, in.Update, in.Evaluation), e)
	if err == nil {
		err = st.Unpin(ctx, in.Run, in.pinName())
	}
	return ScoreEvaluationOut{Evaluation: ref, Greedy: e.Greedy, Sampled: e.Sampled}, err
}

func count(e *rl.Evaluation, member int, t *rl.Trajectory) {
	hit := 0
	if t.Outcome.Value >= 1 {
		hit = 1
	}
	if member == greedyMember {
		e.Greedy.Hits, e.Greedy.Of = e.Greedy.Hits+hit, e.Greedy.Of+1
		return
	}
	e.Sampled.Hits, e.Sampled.Of = e.Sampled.Hits+hit, e.Sampled.Of+1
	if t.Task.Kind != "" {
		k := e.ByKind[t.Task.Kind]
		e.ByKind[t.Task.Kind] = rl.Rate{Hits: k.Hits + hit, Of: k.Of + 1}
	}
	e.Metrics["turns"] += float64(len(t.Turns))
	e.Metrics["tokens"] += float64(t.ActionTokens())
}

// wilson fills in the mean and the 95 % score interval of Wilson (JASA 22, 1927): the centre and half width are
//
//	(p + z²/2n) / (1 + z²/n)   and   z/(1 + z²/n) · sqrt(p(1-p)/n + z²/4n²),   z = 1.959964.
//
// Without trials the interval is everything.
func wilson(r rl.Rate) rl.Rate {
	if r.Of == 0 {
		r.Low, r.High = 0, 1
		return r
	}
	const z = 1.959964
	n, p := float64(r.Of), float64(r.Hits)/float64(r.Of)
	d := 1 + z*z/n
	centre, half := (p+z*z/(2*n))/d, z/d*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	r.Mean, r.Low, r.High = p, max(0, centre-half), min(1, centre+half)
	return r
}
