package gateway

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

// An agent's episode is an ordinary trajectory: one row to train on, scored, the same whenever it is played.
func TestAnAgentsEpisode(t *testing.T) {
	d := newDesk(t, "chat")
	var first *rl.Trajectory
	for range 2 {
		var recorded []rl.Recorded
		o := d.options(0)
		o.Record = func(_ context.Context, r rl.Recorded) error {
			recorded = append(recorded, r)
			return nil
		}
		got, err := d.agent.Run(t.Context(), d.server, d.client, o)
		if err != nil {
			t.Fatal(err)
		}
		oneHistory(t, got)
		if len(recorded) != len(got.Turns) || !got.Outcome.Scored() || got.Turns[0].Observation.Messages[1].Content != "where is order 29?" {
			t.Errorf("%d of %d turns recorded: %+v", len(recorded), len(got.Turns), got.Outcome)
		}
		if first == nil {
			first = got
		} else if string(rl.CanonicalJSON(got)) != string(rl.CanonicalJSON(first)) {
			t.Errorf("%s\n%s", rl.CanonicalJSON(first), rl.CanonicalJSON(got))
		}
	}
}

// How an agent ends decides what its episode is: over, given up, or nobody's fault and tried again.
func TestAgentsEnds(t *testing.T) {
	unscored := rl.Score{Unscored: "the agent wrote no score to LONGHAUL_DIR/score.json, and there is no env.agent.check"}
	for _, c := range []struct {
		mode  string
		stop  rl.StopReason
		score rl.Score
		err   string
		kind  rl.Kind
	}{
		{mode: "3", stop: rl.AgentFailed, score: rl.Score{Reason: "the agent gave up: exit status 3: ...ends as 3"}},
		{mode: "0", stop: rl.Answered, score: unscored},
		{mode: "claim", stop: rl.Answered, score: unscored},
		{mode: "flood", stop: rl.Answered, score: rl.Score{Value: .5, Reason: "told at the end"}},
		{mode: "half-score", kind: rl.Unavailable, err: `environment agent: score.json is no {"score": NUMBER} of at most 65536 bytes: "{\"score\":"`},
		{mode: "wrapped", kind: rl.Unavailable, err: "environment agent: the agent: exit status 137"},
		{mode: "impatient", kind: rl.Unavailable, err: "environment agent: the agent ended while it waited for the policy: exit status 1: ...Request timed out."},
		{mode: "75", kind: rl.Unavailable, err: "environment agent: the agent: exit status 75: ...ends as 75"},
		{mode: "signal", kind: rl.Unavailable, err: "environment agent: the agent: signal: killed"},
		{mode: "before-3", kind: rl.Unavailable, err: "environment agent: the agent: exit status 3: ...ends as 3"},
		{mode: "before-0", kind: rl.Invalid, err: "environment agent: the agent ended without a question to the policy: does it use OPENAI_BASE_URL? exit status 0: ...ends as 0"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			d := newDesk(t, c.mode)
			got, err := d.agent.Run(t.Context(), d.server, d.client, d.options(1))
			if c.err != "" {
				if err == nil || err.Error() != c.err || rl.KindOf(err) != c.kind {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Stop != c.stop || string(rl.CanonicalJSON(got.Outcome)) != string(rl.CanonicalJSON(c.score)) || len(got.Turns) != 1 {
				t.Errorf("%s: %+v, %d turns", got.Stop, got.Outcome, len(got.Turns))
			}
			if n := len(rl.CanonicalJSON(got.Closing)); n > 2*d.agent.Output {
				t.Errorf("%d bytes of output are kept", n)
			}
		})
	}
}

// What env.agent.env names, and the episode's key, are in nothing that is recorded or said; and a worker that lacks it says so.
func TestWhatAnAgentIsGivenIsNotRecorded(t *testing.T) {
	d := newDesk(t, "3")
	d.agent.Env = "TOKEN=AGENTS_TOKEN"
	if _, err := d.agent.Run(t.Context(), d.server, d.client, d.options(1)); rl.KindOf(err) != rl.Unavailable || err.Error() != "env.agent.env: the environment variable AGENTS_TOKEN is not set where this worker runs" {
		t.Error(err)
	}
	t.Setenv("AGENTS_TOKEN", "hunter2-hunter2")
	got, err := d.agent.Run(t.Context(), d.server, d.client, d.options(1))
	if err != nil {
		t.Fatal(err)
	}
	if record := string(rl.CanonicalJSON(got)); strings.Contains(record, "hunter2") || !strings.Contains(record, "401: bad key [TOKEN] [OPENAI_API_KEY]") || got.Outcome.Reason != "the agent gave up: exit status 3: ...401: bad key [TOKEN]\nends as 3" {
		t.Errorf("%q\n%s", got.Outcome.Reason, record)
	}
	before := newDesk(t, "before-3")
	before.agent.Env = d.agent.Env
	if _, err := before.agent.Run(t.Context(), before.server, before.client, before.options(1)); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// An agent that hangs is cut off with the episode's time, and so is all that it started. Its directory goes with it. Where it has
// asked nothing the episode has failed.
func TestAgentsAreEnded(t *testing.T) {
	d := newDesk(t, "hang")
	o := d.options(2)
	o.EpisodeTimeout = 10 * time.Second // in which it comes to its first question
	got, err := d.agent.Run(t.Context(), d.server, d.client, o)
	if err != nil || got.Stop != rl.Timeout || got.Outcome.Reason != "cut off (timeout) before the agent reported a score" {
		t.Errorf("%+v, %v", got, err)
	}

	o.EpisodeTimeout = 3 * time.Second
	stuck := newDesk(t, "before-hang")
	got, err = stuck.agent.Run(t.Context(), stuck.server, stuck.client, o)
	const want = "environment agent: the agent had asked the policy nothing when its time (env.episode_timeout, 3s) was over"
	if rl.KindOf(err) != rl.Unavailable || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("one that has not come to a question: %+v, %v", got, err)
	}
	if n := child.Left(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// A checker's own failure is no score.
func TestCheckers(t *testing.T) {
	d := newDesk(t, "0")
	script := filepath.Join(t.TempDir(), "check.sh")
	for _, c := range []struct{ program, want string }{
		{"exit 0", `{"value":1,"reason":"env.agent.check: success"}`},
		{"echo wrong place; exit 1", `{"value":0,"reason":"env.agent.check: wrong place"}`},
		{`echo '{"score": 0.25, "reason": "so so", "metrics": {"steps": 3}}'`, `{"value":0.25,"reason":"so so","metrics":{"steps":3}}`},
		{`echo "$LONGHAUL_GOAL ($LONGHAUL_STOP)"; exit 1`, `{"value":0,"reason":"env.agent.check: where is the order of task 3? (answered)"}`},
		{"grep -q nowhere /dev/null", `{"value":0,"reason":"env.agent.check: no success"}`},
		{"python3 -c 'import nowhere' 2>&1 | tail -1 >&2; exit 1", "environment agent: env.agent.check: exit status 1: ...ModuleNotFoundError: No module named 'nowhere' (no success is status 1 and nothing on the error output)"},
		{`echo '{"score": NaN}'`, `environment agent: env.agent.check: its last line is no {"score": NUMBER}: "{\"score\": NaN}"`},
		{`echo "{'score': 0}"`, `environment agent: env.agent.check: its last line is no {"score": NUMBER}: "{'score': 0}"`},
		{"echo no >&2; exit 2", "environment agent: env.agent.check: exit status 2: ...no"},
		{`echo '{"score": 1e30}'`, "environment agent: the score's value is 1e+30, which is no number to learn from"},
		{"sleep 600", "environment agent: env.agent.check has not ended within env.turn_timeout: context deadline exceeded"},
	} {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+c.program+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		d.agent.Check = script
		o := d.options(3)
		if o.TurnTimeout = time.Minute; c.program == "sleep 600" {
			o.TurnTimeout = 5 * time.Second
		}
		got, err := d.agent.Run(t.Context(), d.server, d.client, o)
		is := ""
		if err != nil {
			is = err.Error()
		} else {
			is = string(rl.CanonicalJSON(got.Outcome))
		}
		if is != c.want {
			t.Errorf("%s: %s", c.program, is)
		}
	}
	if n := child.Left(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// What an agent is told of its task and of this process: the goal in one of three ways, and no secret but those it is to have.
func TestWhatAgentsAreTold(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	t.Setenv("SEARCH_KEY", "shown")
	d := newDesk(t, "0")
	tells := filepath.Join(t.TempDir(), "told")
	d.agent.Command = `sh -c 'pwd > "$0"; echo {dir} >> "$0"; cat >> "$0"; echo "; $*" >> "$0"; env >> "$0"; exit 3' ` + tells
	d.agent.Env = "TOOL_KEY=SEARCH_KEY"
	for goal, want := range map[string]string{"stdin": "where is the order of task 4?; \n", "argument": "; where is the order of task 4?\n", "environment": "; \n"} {
		d.agent.Goal = goal
		if _, err := d.agent.Run(t.Context(), d.server, d.client, d.options(4)); rl.KindOf(err) != rl.Unavailable { // it asked the policy nothing
			t.Fatal(err)
		}
		b, err := os.ReadFile(tells)
		if err != nil {
			t.Fatal(err)
		}
		in, rest, _ := strings.Cut(string(b), "\n")
		dir, rest, _ := strings.Cut(rest, "\n")
		for _, told := range []string{"TOOL_KEY=shown\n", "LONGHAUL_GOAL=where is the order of task 4?\n", `LONGHAUL_TASK={"index": 4}` + "\n", "OPENAI_BASE_URL=" + d.server.base, "OPENAI_API_KEY=longhaul-"} {
			if !strings.Contains(rest, told) {
				t.Errorf("%s: it is not told %s", goal, told)
			}
		}
		if !strings.HasPrefix(rest, want) || strings.Contains(rest, "hidden") || in != dir {
			t.Errorf("%s, in %s: %s", goal, in, b)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the episode's directory is left: %v", err)
		}
	}
	o := d.options(0)
	o.Task = d.world.Task(rl.Eval, 0)
	if _, err := d.agent.Run(t.Context(), d.server, d.client, o); rl.KindOf(err) != rl.Unavailable {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(tells); err != nil || strings.Contains(string(b), "LONGHAUL_TASK") || !strings.Contains(string(b), "LONGHAUL_GOAL=where is another?\n") {
		t.Errorf("of a task without data: %s, %v", b, err)
	}
}
