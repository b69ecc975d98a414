package rl

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// healthy is an update of which nothing is to be said.
func healthy() UpdateSummary {
	return UpdateSummary{
		Run: "orders-1", Time: time.Unix(1000, 5).UTC(), LearningRate: 5e-4,
		Metrics: map[string]float64{"kl": .004, "entropy": .4, "clip_fraction": .02, "minibatches": 8, "tokens": 900, "ratio_max": 3, "mismatch_kl": .0002},
		Signals: &Signals{AlikeSolved: .2, AlikeFailed: .2, Turns: 6, Tokens: 20, Truncated: .1, Rows: 60},
	}
}

func watchedConfig() Config {
	return Config{
		Env: EnvConfig{MaxTurns: 10, EpisodeTimeout: Duration(30 * time.Minute), TurnTimeout: Duration(time.Minute)}, Group: GroupConfig{Size: 8},
		Sampling: SamplingConfig{Temperature: 1, MaxTokens: 8}, Loss: LossConfig{ClipHigh: .28}, Update: UpdateConfig{Minibatches: 8, KLStop: .03},
	}
}

// follow gives the warnings that begin with each of some updates, healthy but for what change does to them.
func follow(n int, change func(update int, u *UpdateSummary)) (begun [][]Event, last Watch) {
	for i := 1; i <= n; i++ {
		u := healthy()
		u.Update = UpdateNumber(i)
		change(i, &u)
		var events []Event
		last, events = last.After(u, watchedConfig())
		begun = append(begun, events)
	}
	return begun, last
}

// Each condition is told when it begins, not while it holds or comes close again, and again once it had ended.
func TestWarnings(t *testing.T) {
	set := func(name string) func(*UpdateSummary, float64) {
		return func(u *UpdateSummary, v float64) { u.Metrics[name] = v }
	}
	tested := map[string]bool{}
	for _, c := range []struct {
		name            string
		set             func(*UpdateSummary, float64)
		bad, near, good float64 // near is better than where it begins and worse than where it ends
		want            string
	}{
		{"tasks_too_easy", func(u *UpdateSummary, v float64) { u.Signals.AlikeSolved = v }, .8, .7, .5, "80 % of the groups were solved by all their members and teach nothing: take harder tasks (env.tasks.train, env.use)"},
		{"tasks_too_hard", func(u *UpdateSummary, v float64) { u.Signals.AlikeFailed = v }, .75, .7, .5, "in 75 % of the groups no member earned anything, and they teach nothing: begin with easier tasks (env.tasks.train) or a better policy (warm_up.max, from), or try each task more often (group.size, now 8)"},
		{"judge_flat", func(u *UpdateSummary, v float64) { u.Signals.JudgedAlike = v }, .6, .4, .2, "the judge scored 60 % of the groups the same within 0.05: it does not tell good from better; say in its rubric (reward.rubric) what does"},
		{"ratio_exploding", set("ratio_max"), 1234, 50, 4, "a token became 1.23e+03 times as likely within the update: lower update.learning_rate (now 0.0005) or update.minibatches (now 8)"},
		{"kl_spike", set("kl"), .06, .013, .004, "KL to the behaviour policy is 0.0600 nats a token, usual are 0.006"},
		{"kl_stop", set("minibatches"), 2, 5, 8, "update.kl_stop (0.03) cut the update off after 2 of 8 minibatches: most of the batch was not learnt from"},
		{"entropy_collapse", set("entropy"), .03, .06, .2, "entropy is 0.0300 nats a token, the run began with 0.4000: the policy hardly tries anything new; raise loss.clip_high (now 0.28)"},
		{"lengths_running_away", func(u *UpdateSummary, v float64) { u.Signals.Tokens = v }, 44, 35, 25, "an episode has 44 tokens on average, the run began with 20: see that the reward does not pay for length (`longhaul show orders-1/5`), or bound it (sampling.max_tokens, now 8; env.max_turns, now 10)"},
		{"truncations", func(u *UpdateSummary, v float64) { u.Signals.Truncated = v }, .35, .25, .1, "35 % of the episodes were cut off, the run began with 10 %: raise env.max_turns (now 10), env.episode_timeout (now 30m0s)"},
		{"clipping", set("clip_fraction"), .4, .25, .1, "40 % of the tokens are clipped: the update moves further than it may; lower update.learning_rate"},
		{"engine_mismatch", set("mismatch_kl"), .02, .007, .001, "the sampler's and the trainer's log-probabilities of the same tokens differ by 0.0200 nats a token"},
		{"prefix_broken", func(u *UpdateSummary, v float64) {
			u.Signals.Broken, u.Signals.Breaks = v, map[Break]float64{CallsRewritten: v / 4, ReasoningStripped: 3 * v / 4}
		}, .4, .03, .01, "the prompts of 40 % of the later turns do not begin with the tokens so far (reasoning_stripped 30 %, tool_calls_rewritten 10 %), and each begins a new row, which costs training time: " +
			"the chat template, or the server's reasoning parser, drops what the policy thought in earlier turns, as Qwen3's and DeepSeek-R1's templates do: serve a template that keeps it"},
		{"rollouts_lost", func(u *UpdateSummary, v float64) { u.Signals.Lost = v }, .25, .15, 0, "25 % of the rollouts failed or have no score: `longhaul ledger orders-1 --update 5` says why; mend it"},
	} {
		tested[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			course := []float64{c.near, c.bad, c.bad, c.near, c.bad, c.good, c.near, c.bad}
			begun, last := follow(earlyUpdates+len(course), func(i int, u *UpdateSummary) {
				if i > earlyUpdates {
					c.set(u, course[i-1-earlyUpdates])
				}
			})
			for i, events := range begun {
				want := i == 4 || i == 10
				if want != (len(events) == 1) || len(events) > 1 {
					t.Fatalf("update %d: %+v", i+1, events)
				}
			}
			e := begun[4][0]
			if e.Name != c.name || e.Kind != Warning || e.Update != 5 || !e.Time.Equal(time.Unix(1000, 0)) || !strings.HasPrefix(e.Text, c.want) {
				t.Errorf("got  %+v\nwant %s", e, c.want)
			}
			if want := map[string]UpdateNumber{c.name: 11}; !maps.Equal(last.Standing, want) {
				t.Errorf("%v stand, not %v", last.Standing, want)
			}
		})
	}
	for _, c := range conditions {
		if !tested[c.name] || c.until >= c.from {
			t.Errorf("%s is not tested, or ends where it begins", c.name)
		}
	}
}

// What a warning's numbers are about is said with them, as far as the update and the configuration tell.
func TestWordsOfWarnings(t *testing.T) {
	u := healthy()
	u.Update = 1
	u.Metrics["clip_fraction"], u.Metrics["clip_low_fraction"], u.Metrics["clip_high_fraction"], u.Metrics["mismatch_kl"] = .4, .1, .3, .02
	cfg := watchedConfig()
	cfg.Group.MaxStaleness = 2
	_, events := Watch{}.After(u, cfg)
	if len(events) != 2 || !strings.HasPrefix(events[0].Text, "40 % of the tokens are clipped (10 % below, 30 % above):") ||
		!strings.Contains(events[1].Text, "templates differ, or many rows are of older versions (group.max_staleness, now 2); give both") {
		t.Errorf("%+v", events)
	}
}

// Each way in which prompts leave the tokens so far has its own remedy.
func TestRemediesOfBreaks(t *testing.T) {
	for why, want := range map[Break]string{
		ReasoningStripped: "a model that does not think", CallsRewritten: "writes past tool calls otherwise", TextRewritten: "trims or changes what the policy said",
		EndReplaced: "<|eom_id|>", HistoryRewritten: "a date in the template's system message",
	} {
		u := healthy()
		u.Update, u.Signals.Broken, u.Signals.Breaks = 1, .5, map[Break]float64{why: .5}
		if _, events := (Watch{}).After(u, watchedConfig()); len(events) != 1 || !strings.Contains(events[0].Text, string(why)+" 50 %") || !strings.Contains(events[0].Text, want) {
			t.Errorf("%s: %+v", why, events)
		}
	}
	if len(remedies) != 5 {
		t.Errorf("%d remedies, of which 5 are tested", len(remedies))
	}
}

// Of few pairs there are few steps: kl_stop has cut off nothing.
func TestFewPairsAreNotCutOff(t *testing.T) {
	u := healthy()
	u.Update = 1
	u.Metrics["minibatches"], u.Metrics["pairs"] = 2, 2
	if _, events := (Watch{}).After(u, watchedConfig()); len(events) > 0 {
		t.Errorf("%+v", events)
	}
}

// What an update does not tell neither begins nor ends a warning; one that trained on nothing tells nothing of the policy.
func TestWarningsOfSilence(t *testing.T) {
	begun, last := follow(8, func(i int, u *UpdateSummary) {
		switch {
		case i == 4:
			u.Metrics["entropy"], u.Signals.Lost = .01, .5
		case i > 4 && i < 7:
			u.Metrics, u.Signals = map[string]float64{"entropy": 0, "kl": 0, "tokens": 0}, nil
		case i == 7:
			u.Metrics = nil
		}
	})
	for i, events := range begun {
		if want := map[int]int{3: 2}[i]; len(events) != want {
			t.Errorf("update %d: %+v", i+1, events)
		}
	}
	if len(last.Standing) != 0 {
		t.Errorf("%v stand", last.Standing)
	}
	if w, events := last.After(UpdateSummary{Metrics: map[string]float64{"entropy": 0}}, Config{}); len(events) > 0 || !reflect.DeepEqual(w, last) {
		t.Errorf("update 0: %+v %+v", w, events)
	}
}

// A run that begins with many truncated episodes is told so once it has a beginning; a KL that stays is told once.
func TestWarningsAgainstABadBeginning(t *testing.T) {
	begun, _ := follow(30, func(i int, u *UpdateSummary) {
		u.Signals.Truncated = .6
		if i > 10 {
			u.Metrics["kl"] = .03
		}
	})
	for i, events := range begun {
		var names []string
		for _, e := range events {
			names = append(names, e.Name)
		}
		if want := map[int][]string{3: {"truncations"}, 10: {"kl_spike"}}[i]; !slices.Equal(names, want) {
			t.Errorf("update %d: %v, not %v", i+1, names, want)
		}
	}
}

// Whatever the numbers, a warning is not told again while it stands, and the watch before is not changed.
func TestWatchIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Watch
		for i := range rapid.IntRange(1, 12).Draw(t, "updates") {
			u := healthy()
			u.Update = UpdateNumber(i + 1)
			for _, name := range []string{"kl", "entropy", "clip_fraction", "ratio_max", "minibatches", "tokens"} {
				u.Metrics[name] = rapid.Float64Range(0, 10).Draw(t, name)
			}
			u.Signals.Tokens, u.Signals.AlikeSolved = rapid.Float64Range(0, 100).Draw(t, "length"), rapid.Float64Range(0, 1).Draw(t, "solved")
			before := string(CanonicalJSON(w))
			next, begun := w.After(u, watchedConfig())
			again, same := w.After(u, watchedConfig())
			if !reflect.DeepEqual(next, again) || !reflect.DeepEqual(begun, same) || string(CanonicalJSON(w)) != before {
				t.Fatalf("not pure: %+v %+v", next, again)
			}
			for _, e := range begun {
				if _, stood := w.Standing[e.Name]; stood || next.Standing[e.Name] != u.Update {
					t.Fatalf("%s is told at %d and stood %v", e.Name, u.Update, w.Standing)
				}
			}
			w = next
			CanonicalJSON(w) // panics on what is not a number
		}
	})
}
