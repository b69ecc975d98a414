package activities

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// asking is how a group's judge is asked: what has been answered is served from the record, for ever; a call that is to be made
// is first entered into the run's spending, within its limits; its answer is recorded before it counts.
//
// A call whose answer is lost, because this process died or the judge did not answer in time, is sent again under the same
// key. It stays among the open calls until it is answered, so that the next attempt knows that it may be paid already.
type asking struct {
	store  *store.Store
	client *reward.Client
	config rl.RewardConfig
	run    rl.RunID
	update rl.UpdateNumber
	task   rl.TaskID
}

func (a asking) ask(ctx context.Context, q reward.Question) (reward.Reply, error) {
	key := store.JudgeReplyKey(a.run, a.update, a.task, store.SHA256(rl.CanonicalJSON(q)))
	call := store.SHA256([]byte(key)) // two groups may put the same question
	_, reply, ok, err := recorded[reward.Reply](ctx, a.store, key)
	if err != nil {
		return reply, err
	}
	if !ok {
		if reply, err = a.call(ctx, key, call, q); err != nil {
			return reply, err
		}
	}
	ctx, cancel := keeping(ctx)
	defer cancel()
	return reply, a.settle(ctx, call, reply.Spent)
}

// call makes a call and records its answer, also when the stage is stopped meanwhile: it is paid for.
func (a asking) call(ctx context.Context, key, call string, q reward.Question) (reply reward.Reply, err error) {
	release, err := a.client.Acquire(ctx)
	if err != nil {
		return reply, err
	}
	defer release()
	if err := a.reserve(ctx, call, a.client.Most(q)); err != nil {
		return reply, err
	}
	reply, err = a.client.Ask(ctx, call, q)
	ctx, cancel := keeping(ctx)
	defer cancel()
	if err != nil {
		return reply, a.unanswered(ctx, call, err)
	}
	_, reply, err = store.PutJSON(ctx, a.store, key, reply)
	return reply, err
}

// keeping is a context for writing down what a stage that may have been stopped has come to.
func keeping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

func (a asking) reserve(ctx context.Context, call string, most float64) error {
	return a.spend(ctx, func(s rl.Spend) (rl.Spend, error) { return s.Reserve(call, most, a.config.MaxCalls, a.config.MaxUSD) })
}

func (a asking) settle(ctx context.Context, call string, spent rl.Spent) error {
	return a.spend(ctx, func(s rl.Spend) (rl.Spend, error) { return s.Settle(call, spent), nil })
}

// unanswered closes a call that the judge certainly did not serve; one of which that is not known stays open.
func (a asking) unanswered(ctx context.Context, call string, cause error) error {
	if !errors.Is(cause, endpoint.ErrUnserved) {
		return cause
	}
	return errors.Join(cause, a.spend(ctx, func(s rl.Spend) (rl.Spend, error) { return s.Release(call), nil }))
}

// spend changes the run's spending. What another version of this program wrote of it may count what this one does not know of, and
// is left alone: nothing more is spent.
func (a asking) spend(ctx context.Context, change func(rl.Spend) (rl.Spend, error)) error {
	key := store.SpendKey(a.run)
	_, err := store.ChangeJSON(ctx, a.store, key, a.spent, func(s rl.Spend) (_ rl.Spend, err error) {
		if s.Schema == "" { // JSON, but no spending
			if s, err = a.spent(ctx); err != nil {
				return s, err
			}
		}
		if s.Schema != rl.SpendSchema {
			return s, rl.Errorf(rl.Refused, "store "+key, "its schema is %q, not %q: another version of longhaul has written it", s.Schema, rl.SpendSchema)
		}
		return change(s)
	})
	return err
}

// spent is what the run's recorded answers have cost: its spending, where that record is lost.
func (a asking) spent(ctx context.Context) (rl.Spend, error) {
	s := rl.Spend{Schema: rl.SpendSchema}
	for o, err := range a.store.List(ctx, store.UpdatesPrefix(a.run)) {
		if err != nil {
			return s, err
		}
		if !strings.Contains(o.Key, "/judge/") {
			continue
		}
		_, reply, ok, err := recorded[reward.Reply](ctx, a.store, o.Key)
		if err != nil {
			return s, err
		}
		if !ok { // damaged: it is asked for again, and counted then
			continue
		}
		s.Calls, s.USD = s.Calls+reply.Spent.Calls, s.USD+reply.Spent.USD
	}
	return s, nil
}

// judgeClient is the client of a run's judge, nil where none takes part.
func (a *Activities) judgeClient(ctx context.Context, c rl.RewardConfig) (*reward.Client, error) {
	if !c.Judges() {
		return nil, nil
	}
	return cached(ctx, a, &a.judges, store.SHA256(rl.CanonicalJSON(c)), func() (*reward.Client, error) {
		key, err := a.key("reward.api_key_env", c.APIKeyEnv)
		if err != nil {
			return nil, err
		}
		return reward.NewClient(c, key, nil), nil
	})
}

// key is the API key in an environment variable that the configuration names under option; empty where it names none.
func (a *Activities) key(option, variable string) (key string, err error) {
	if variable == "" {
		return "", nil
	}
	if a.Getenv != nil {
		key = a.Getenv(variable)
	}
	if key == "" { // another worker may have it, and this one may be started again with it
		return "", rl.Errorf(rl.Unavailable, option, "the environment variable %s is not set where this worker runs", variable)
	}
	return key, nil
}

// Score scores a group as a reward configuration asks for. What a judge is asked and answers is recorded with the group, and its
// cost with the run, whatever configuration asks.
func (a *Activities) Score(ctx context.Context, st *store.Store, run rl.RunID, n rl.UpdateNumber, c rl.RewardConfig, seed uint64, g rl.Group) (rl.Scores, error) {
	return a.scoreHeard(ctx, st, run, n, c, seed, g, func(reward.Question, reward.Reply) {})
}

// scoreHeard is Score that tells of each question and its answer, recorded or new.
func (a *Activities) scoreHeard(ctx context.Context, st *store.Store, run rl.RunID, n rl.UpdateNumber, c rl.RewardConfig, seed uint64, g rl.Group, heard func(reward.Question, reward.Reply)) (rl.Scores, error) {
	client, err := a.judgeClient(ctx, c)
	if err != nil {
		return rl.Scores{}, err
	}
	as := asking{st, client, c, run, n, g.Task.ID}
	ask := func(ctx context.Context, q reward.Question) (reward.Reply, error) {
		reply, err := as.ask(ctx, q)
		if err == nil {
			heard(q, reply)
		}
		return reply, err
	}
	score, err := reward.New(reward.Parts{Config: c, Seed: seed, Ask: ask})
	if err != nil {
		return rl.Scores{}, err
	}
	scores, err := score(ctx, g)
	if err == nil && len(scores.Scores) != len(g.Trajectories) {
		err = rl.Errorf(rl.Invalid, "reward "+c.Use, "%d scores for %d members of %s", len(scores.Scores), len(g.Trajectories), g.Task.ID)
	}
	scores.Schema, scores.Task, scores.Reward = rl.ScoresSchema, g.Task.ID, c.Use
	return scores, err
}
