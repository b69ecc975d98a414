package rl

import (
	"fmt"
	"strings"
)

// condition is something that a person should hear of while it holds.
type condition struct {
	name        string
	from, until float64                    // it begins at from or above, and ends below until
	value       func(seen) (float64, bool) // how bad it is; false: the update does not tell
	words       func(seen) string          // what was seen, and what to change
}

// seen is an update as conditions look at it. Its Signals are zero where the update has none.
type seen struct {
	Signals
	u      UpdateSummary
	before Watch
	cfg    Config
}

// metric is one of the update job's, unless it trained on nothing.
func (s seen) metric(name string) (float64, bool) {
	v, ok := s.u.Metrics[name]
	if tokens, counted := s.u.Metrics["tokens"]; counted && tokens == 0 {
		return 0, false
	}
	return v, ok
}

func metric(name string) func(seen) (float64, bool) {
	return func(s seen) (float64, bool) { return s.metric(name) }
}

func signal(value func(seen) float64) func(seen) (float64, bool) {
	return func(s seen) (float64, bool) { return value(s), s.u.Signals != nil }
}

const (
	klSpike    = "kl_spike"
	spikeFloor = 0.005 // nats a token: what is below is no spike, whatever is usual
	alwaysCut  = 0.3   // a run that begins with more truncated episodes than this is judged as if it began with so many
)

// conditions, in the order in which they are told; docs/operations.md has them as a table.
var conditions = []condition{
	{"tasks_too_easy", .75, .6, signal(func(s seen) float64 { return s.AlikeSolved }), func(s seen) string {
		return fmt.Sprintf("%.0f %% of the groups were solved by all their members and teach nothing: take harder tasks (env.tasks.train, env.use), or sample solved ones less often (curriculum.floor: 0.1); where success is what you want, the run is done",
			100*s.AlikeSolved)
	}},
	{"tasks_too_hard", .75, .6, signal(func(s seen) float64 { return s.AlikeFailed }), func(s seen) string {
		return fmt.Sprintf("in %.0f %% of the groups no member earned anything, and they teach nothing: begin with easier tasks (env.tasks.train) or a better policy (warm_up.max, from), or try each task more often (group.size, now %d)",
			100*s.AlikeFailed, s.cfg.Group.Size)
	}},
	{"judge_flat", .5, .3, signal(func(s seen) float64 { return s.JudgedAlike }), func(s seen) string {
		return fmt.Sprintf("the judge scored %.0f %% of the groups the same within %g: it does not tell good from better; say in its rubric (reward.rubric) what does, or take a stronger judge (reward.model)",
			100*s.JudgedAlike, JudgedSpread)
	}},
	{"ratio_exploding", 100, 20, metric("ratio_max"), func(s seen) string {
		return fmt.Sprintf("a token became %.3g times as likely within the update: lower update.learning_rate (now %.3g) or update.minibatches (now %d), or stop sooner (update.kl_stop, now %g)",
			s.u.Metrics["ratio_max"], s.u.LearningRate, s.cfg.Update.Minibatches, s.cfg.Update.KLStop)
	}},
	{klSpike, 5, 2, seen.spike, func(s seen) string {
		return fmt.Sprintf("KL to the behaviour policy is %.4f nats a token, usual are %.4f: lower update.learning_rate (now %.3g) if rewards fall, or set update.kl_stop (now %g)",
			s.u.Metrics["kl"], s.before.UsualKL.Value, s.u.LearningRate, s.cfg.Update.KLStop)
	}},
	{"kl_stop", .5, .25, seen.cut, func(s seen) string {
		return fmt.Sprintf("update.kl_stop (%g) cut the update off after %.0f of %d minibatches: most of the batch was not learnt from; lower update.learning_rate (now %.3g), or raise update.kl_stop",
			s.cfg.Update.KLStop, s.u.Metrics["minibatches"], s.minibatches(), s.u.LearningRate)
	}},
	{"entropy_collapse", 10, 5, seen.collapse, func(s seen) string {
		return fmt.Sprintf("entropy is %.4f nats a token, the run began with %.4f: the policy hardly tries anything new; raise loss.clip_high (now %g) or sampling.temperature (now %g), or lower update.learning_rate",
			s.u.Metrics["entropy"], s.before.Early.Entropy.Value, s.cfg.Loss.ClipHigh, s.cfg.Sampling.Temperature)
	}},
	{"lengths_running_away", 2, 1.5, seen.growth, func(s seen) string {
		return fmt.Sprintf("an episode has %.0f tokens on average, the run began with %.0f: see that the reward does not pay for length (`longhaul show %s/%d`), or bound it (sampling.max_tokens, now %d; env.max_turns, now %d)",
			s.Tokens, s.before.Early.Tokens.Value, s.u.Run, s.u.Update, s.cfg.Sampling.MaxTokens, s.cfg.Env.MaxTurns)
	}},
	{"truncations", .2, .1, seen.truncations, func(s seen) string {
		return fmt.Sprintf("%.0f %% of the episodes were cut off, the run began with %.0f %%: raise env.max_turns (now %d), env.episode_timeout (now %s) or the policy's context, whichever `longhaul ledger %s --update %d` names",
			100*s.Truncated, 100*s.before.Early.Truncated.Value, s.cfg.Env.MaxTurns, s.cfg.Env.EpisodeTimeout, s.u.Run, s.u.Update)
	}},
	{"clipping", .3, .2, metric("clip_fraction"), func(s seen) string {
		return fmt.Sprintf("%.0f %% of the tokens are clipped%s: the update moves further than it may; lower update.learning_rate (now %.3g) or update.minibatches (now %d)",
			100*s.u.Metrics["clip_fraction"], s.sides(), s.u.LearningRate, s.cfg.Update.Minibatches)
	}},
	{"engine_mismatch", .01, .005, metric("mismatch_kl"), func(s seen) string {
		lag := ""
		if n := s.cfg.Group.MaxStaleness; n > 0 {
			lag = fmt.Sprintf(", or many rows are of older versions (group.max_staleness, now %d)", n)
		}
		return fmt.Sprintf("the sampler's and the trainer's log-probabilities of the same tokens differ by %.4f nats a token (KL): their precision, kernels or templates differ%s; give both the same, and correct for the rest (loss.mismatch_cap)",
			s.u.Metrics["mismatch_kl"], lag)
	}},
	{"prefix_broken", .05, .02, signal(func(s seen) float64 { return s.Broken }), seen.whyBroken},
	{"rollouts_lost", .2, .1, signal(func(s seen) float64 { return s.Lost }), func(s seen) string {
		return fmt.Sprintf("%.0f %% of the rollouts failed or have no score: `longhaul ledger %s --update %d` says why; mend it, or give them more time (env.turn_timeout, now %s)",
			100*s.Lost, s.u.Run, s.u.Update, s.cfg.Env.TurnTimeout)
	}},
}

// spike is KL as a multiple of what is usual.
func (s seen) spike() (float64, bool) {
	kl, ok := s.metric("kl")
	if !ok || s.before.UsualKL.N < earlyUpdates {
		return 0, false
	}
	if kl < spikeFloor {
		return 0, true
	}
	return kl / s.before.UsualKL.Value, true
}

// cut is the share of the minibatches that kl_stop skipped. It never does where pairs are learnt from, which may be few.
func (s seen) cut() (float64, bool) {
	done, ok := s.metric("minibatches")
	if _, pairs := s.u.Metrics["pairs"]; pairs || !ok || s.minibatches() == 0 || s.cfg.Update.KLStop == 0 {
		return 0, false
	}
	return 1 - done/float64(s.minibatches()), true
}

// minibatches is how many the update would have had: none is empty.
func (s seen) minibatches() int { return min(s.cfg.Update.Minibatches, s.Rows) }

// collapse is how many times as much entropy there was at first.
func (s seen) collapse() (float64, bool) {
	entropy, ok := s.metric("entropy")
	early := s.before.Early.Entropy
	return early.Value / entropy, ok && early.N == earlyUpdates && early.Value > 0
}

// growth is how many times as long the episodes are as at first.
func (s seen) growth() (float64, bool) {
	early := s.before.Early.Tokens
	return s.Tokens / early.Value, s.u.Signals != nil && early.N == earlyUpdates && early.Value > 0
}

// truncations is how many more of the episodes are cut off than at first.
func (s seen) truncations() (float64, bool) {
	early := s.before.Early.Truncated
	return s.Truncated - min(early.Value, alwaysCut), s.u.Signals != nil && early.N == earlyUpdates
}

// sides says on which side tokens are clipped, where that is known.
func (s seen) sides() string {
	low, ok := s.metric("clip_low_fraction")
	high, both := s.metric("clip_high_fraction")
	if !ok || !both {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% below, %.0f %% above)", 100*low, 100*high)
}

// whyBroken names the ways, the most frequent first, and what can be done about that one.
func (s seen) whyBroken() string {
	ways, named := s.Broke(), []string(nil)
	for _, way := range ways {
		named = append(named, fmt.Sprintf("%s %.0f %%", way, 100*s.Breaks[way]))
	}
	return fmt.Sprintf("the prompts of %.0f %% of the later turns do not begin with the tokens so far (%s), and each begins a new row, which costs training time: %s",
		100*s.Broken, strings.Join(named, ", "), append(ways, "")[0].Remedy())
}
