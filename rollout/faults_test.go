package rollout

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// after answers the first requests for an action by a script, and all others as the fault does: a server that is silent is
// looked at beside them.
func after(turns int64, script, fault http.Handler) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && asked.Add(1) <= turns {
			script.ServeHTTP(w, r)
		} else {
			fault.ServeHTTP(w, r)
		}
	})
}

// refusing answers with a status and an OpenAI-shaped error.
func refusing(status int, code string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write([]byte(`{"error":{"message":"so said the server","code":"` + code + `"}}`))
	})
}

// hanging is there as long as the client is, and a little longer.
var hanging = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	time.Sleep(time.Second)
})

// halting leaves half a reply as soon as the client's time is over.
var halting = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Write([]byte(`{"choices":`))
	<-r.Context().Done()
})

var looping = scripted(inTurn(says("", "echo", `{"text":"x"}`)))

// stuck is a tool that waits for its deadline.
func stuck(ctx context.Context, _ envs.Call) (envs.Result, error) {
	<-ctx.Done()
	return envs.Result{}, errBroken
}

// The clock of these tests is synctest's: it moves only when everything waits.
const moment, long = 30 * time.Second, time.Hour

func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t)
			time.Sleep(moment) // the clock stops with the test, and hanging servers wait for it
		})
	})
}

func TestTruncatedEpisodesAreScored(t *testing.T) {
	for name, c := range map[string]struct {
		server http.Handler
		env    *stage
		stop   rl.StopReason
		turns  int
		last   string
	}{
		"a full context":          {after(2, looping, refusing(400, "context_length_exceeded")), onStage(echo), rl.ContextLimit, 2, "x"},
		"a full context at once":  {refusing(400, "context_length_exceeded"), onStage(echo), rl.ContextLimit, 0, "go"},
		"time over in the policy": {after(2, looping, hanging), onStage(echo), rl.Timeout, 2, "x"},
		"time over, half a reply": {after(2, looping, halting), onStage(echo), rl.Timeout, 2, "x"},
		"time over in a tool":     {looping, onStage(stuck), rl.Timeout, 1, afterTheTime},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := options()
			o.EpisodeTimeout, o.TurnTimeout = moment, long
			got := mustRun(t, c.env, client(c.server), o)
			if got.Stop != c.stop || !got.Stop.Truncated() || len(got.Turns) != c.turns || got.Outcome.Value != 1 || got.Policy.First != o.Version {
				t.Errorf("%s after %d turns, %+v", got.Stop, len(got.Turns), got.Outcome)
			}
			if m := got.Closing.Messages; m[len(m)-1].Content != c.last {
				t.Errorf("%+v", got.Closing)
			}
		})
	}
}

func TestTimeOverSettlesEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options()
		o.EpisodeTimeout = moment
		got := mustRun(t, onStage(stuck), client(scripted(inTurn(says("", "end", "{}", "end", "{}")))), o)
		if m := got.Closing.Messages; len(m) != 2 || m[1].Content != afterTheTime {
			t.Errorf("%+v", m)
		}
	})
}

func TestFailuresNameTheirBoundary(t *testing.T) {
	quick := onStage(stuck)
	quick.spec.Tools[0].Timeout = moment
	slow := onStage(echo)
	slow.reset = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	broken := onStage(func(context.Context, envs.Call) (envs.Result, error) { return envs.Result{}, errBroken })
	gone := onStage(func(context.Context, envs.Call) (envs.Result, error) {
		return envs.Result{}, rl.Errorf(rl.NotFound, "environment stage", "no such table")
	})
	lavish := onStage(func(context.Context, envs.Call) (envs.Result, error) { return envs.Result{Reward: 1e39}, nil })
	for name, c := range map[string]struct {
		server            http.Handler
		env               *stage
		turnTimeout       time.Duration
		episodeTimeout    time.Duration
		kind              rl.Kind
		startsWith, words string
	}{
		"a policy that hangs":           {hanging, onStage(echo), moment, long, rl.Unavailable, "policy http://policy/v1", "deadline"},
		"a policy that hangs later":     {after(2, looping, hanging), onStage(echo), moment, long, rl.Unavailable, "policy http://policy/v1", "deadline"},
		"a policy that is overloaded":   {refusing(503, "busy"), onStage(echo), long, long, rl.Unavailable, "policy http://policy/v1", "so said the server"},
		"a policy that will not":        {refusing(401, "key"), onStage(echo), long, long, rl.Refused, "policy http://policy/v1", "so said the server"},
		"a tool past its own timeout":   {looping, quick, long, long, rl.Unavailable, "environment stage", "echo gave no result within 30s: the stage burns"},
		"a tool past the turn's":        {looping, onStage(stuck), moment, long, rl.Unavailable, "environment stage", "within 30s"},
		"a tool that breaks":            {looping, broken, long, long, rl.Unavailable, "environment stage", "the stage burns"},
		"a tool that names its failure": {looping, gone, long, long, rl.NotFound, "environment stage", "no such table"},
		"a tool that earns too much":    {looping, lavish, long, long, rl.Invalid, "environment stage", "echo earned 1e+39, which is no number to learn from"},
		"a reset past the episode's":    {looping, slow, long, moment, rl.Unavailable, "environment stage", "deadline"},
	} {
		inBubble(t, name, func(t *testing.T) {
			o := options()
			o.TurnTimeout, o.EpisodeTimeout = c.turnTimeout, c.episodeTimeout
			got, err := Run(t.Context(), c.env, client(c.server), o)
			if got != nil || rl.KindOf(err) != c.kind || !strings.HasPrefix(err.Error(), c.startsWith+": ") || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v (%s)", err, rl.KindOf(err))
			}
		})
	}
}

// A score takes no longer than a turn, unless the environment says how long it may take.
func TestScoresHaveTheirTime(t *testing.T) {
	for name, limit := range map[string]time.Duration{"of a turn": 0, "of their own": 4 * moment} {
		inBubble(t, name, func(t *testing.T) {
			env := onStage(echo)
			env.rates, env.spec.ScoreTimeout = 2*moment, limit
			o := options()
			o.TurnTimeout, o.EpisodeTimeout = moment, long
			got, err := Run(t.Context(), env, client(scripted(inTurn(says("", "end", "{}")))), o)
			if limit > 0 && (err != nil || got.Outcome.Value != 1) || limit == 0 && rl.KindOf(err) != rl.Unavailable {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A caller that stops is told so, and nothing is scored.
func TestRunEndsWithItsContext(t *testing.T) {
	for name, env := range map[string]*stage{"in the policy": onStage(echo), "in a tool": onStage(stuck)} {
		inBubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), moment)
			defer cancel()
			o := options()
			o.EpisodeTimeout = long
			if got, err := Run(ctx, env, client(after(1, looping, hanging)), o); got != nil || !errors.Is(err, context.DeadlineExceeded) || rl.KindOf(err) != "" {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// Live episodes are bounded by the client, and a place is given back however an episode ends.
func TestRunGivesItsPlaceBack(t *testing.T) {
	p := policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: refusing(503, "")}, Concurrency: 1})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), long)
		_, err := Run(ctx, onStage(echo), p, options())
		cancel()
		if rl.KindOf(err) != rl.Unavailable {
			t.Fatal(err)
		}
	}
}

func FuzzCapped(f *testing.F) {
	f.Add("sévère", 4)
	f.Add("a\xffb", 2)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, content string, limit int) {
		got := capped(content, limit)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		kept, _, cut := strings.Cut(got, "\n[truncated: ")
		if limit > 0 && cut && !strings.Contains(content, "\n[truncated: ") && len(kept) > limit {
			t.Errorf("%d bytes are kept of %d allowed", len(kept), limit)
		}
		if capped(got, 0) != got {
			t.Error("the record would read differently")
		}
	})
}
