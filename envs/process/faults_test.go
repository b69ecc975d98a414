package process

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func faulty(fault string) string { return "exec python3 testdata/faulty.py " + fault }

// What a program does wrong is an error of infrastructure that says what it was; the next episode has a program that works.
func TestFaults(t *testing.T) {
	t.Setenv("FAULTY_KEY", "not-for-the-log")
	for _, c := range []struct {
		fault, want string
		goes        bool // the same episode can go on
	}{
		{"crash", "step: it has ended, with status 3; it wrote: the roof is on fire, and the key is [FAULTY_KEY]", false},
		{"hang", "step: no reply in time: context deadline exceeded", false},
		{"garbage", `step: it wrote what is no reply: "{\"id\": 3, \"observation\": ": unexpected end of JSON input`, false},
		{"long", "step: it wrote a line of more than 16 MiB", false},
		{"error", "step: it says: the level is broken, says [FAULTY_KEY]", true},
		{"twice", "step: it replied to 3, which was not asked", false},
		{"ahead", "step: it replied to 5, which was not asked", false},
		{"nan", "step: it wrote what is no reply: \"{\\\"id\\\": 4, \\\"observation\\\": \\\"x\\\", \\\"reward\\\": NaN}\": invalid character 'N' looking for beginning of value", false},
		{"typo", `step: the reply to step is not as it should be: json: unknown field "obervation"`, false},
		{"silent", "step: the reply to step is not as it should be: it has no observation, and the episode goes on", false},
		{"type", "step: the reply to step is not as it should be: json: cannot unmarshal number", false},
		{"slow", "", true},
		{"noise", "", true},
		{"flood", "", true},
		{"big", "", true},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			config := the(faulty(c.fault), 1, 2)
			config.Process.Env = "FAULTY_KEY=FAULTY_KEY"
			w, inside := opened(t, config)
			e := w.New()
			begin(t, e, w.Task(rl.Train, 0))
			mustStep(t, e, "go", "{}")
			limit := time.Minute
			if c.fault == "hang" {
				limit, inside.pool.closing = 500*time.Millisecond, 500*time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			r, err := step(ctx, e, "go", "{}")
			if c.want == "" && err != nil || c.want != "" && (rl.KindOf(err) != rl.Unavailable || !strings.HasPrefix(err.Error(), "environment process: "+c.want)) {
				t.Errorf("%.80q, %v", r.Content, err)
			}
			if c.fault == "big" && len(r.Content) != 10<<20 {
				t.Errorf("%d bytes", len(r.Content))
			}
			if c.goes {
				mustStep(t, e, "go", "{}")
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			inside.pool.empty()
			again := w.New()
			defer again.Close()
			begin(t, again, w.Task(rl.Train, 1))
			mustStep(t, again, "go", "{}")
			if s, err := again.Score(t.Context()); err != nil || s.Value != 1 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// slow is a program that is at a call until go is called, and a context that ends with a cause when it has come to it.
func slow(t *testing.T, cause error) (command string, ctx context.Context, goOn func()) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "at")); err == nil {
				cancel(cause)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return faulty("slow '" + dir + "'"), ctx, func() {
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// An episode whose time ends in the middle of a call is scored all the same, once the program has done the call.
func TestScoreAfterTheDeadline(t *testing.T) {
	command, ctx, goOn := slow(t, context.DeadlineExceeded)
	w, _ := opened(t, the(command, 1, 1))
	e := w.New()
	defer e.Close()
	begin(t, e, w.Task(rl.Train, 0))
	mustStep(t, e, "go", "{}")
	if _, err := step(ctx, e, "go", "{}"); !errors.Is(err, ErrOverdue) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	goOn()
	if s, err := e.Score(t.Context()); err != nil || s.Value != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// An episode that is given up in the middle of a call leaves its neighbours in the program alone.
func TestGivingUpKillsNobody(t *testing.T) {
	command, ctx, goOn := slow(t, context.Canceled)
	w, inside := opened(t, the(command, 1, 2))
	e, other := w.New(), w.New()
	defer other.Close()
	begin(t, e, w.Task(rl.Train, 0))
	begin(t, other, w.Task(rl.Train, 1))
	mustStep(t, e, "go", "{}")
	if _, err := step(ctx, e, "go", "{}"); !errors.Is(err, ErrOverdue) {
		t.Fatal(err)
	}
	was := inside.pool.slots[0].program
	e.Close()
	goOn()
	mustStep(t, other, "go", "{}")
	if inside.pool.slots[0].program != was {
		t.Error("it is another program")
	}
}

func TestRefusedSnapshot(t *testing.T) {
	w, _ := opened(t, the(faulty("none"), 1, 1))
	e := w.New()
	defer e.Close()
	begin(t, e, w.Task(rl.Train, 0))
	snapshot, err := e.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Restore(t.Context(), snapshot); rl.KindOf(err) != rl.Corrupt || !strings.Contains(err.Error(), "it says: not mine") {
		t.Error(err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for command, want := range map[string]string{
		"exec nosuchprogram":          "env.process.command: hello: it has ended, with status 127; it wrote: /bin/sh: 1: exec: nosuchprogram: not found",
		"echo hello there; sleep 600": "environment process: env.process.command: hello: no reply in time: context deadline exceeded; it wrote: hello there",
		"true":                        "environment process: env.process.command: hello: it has ended, with status 0",
		faulty("status"):              "environment process: env.process.command: hello: it has ended, with status 1; it wrote: no such level",
		"kill -9 $$":                  "environment process: env.process.command: hello: it has ended: signal: killed",
		`echo '{"level": "info"}'`:    `env.process.command: hello: it wrote what is no reply: "{\"level\": \"info\"}": it has no id`,
		faulty("newer"):               "env.process.command: hello: the reply to hello is not as it should be: protocol is 2, and 1 is spoken here",
		faulty("deaf"):                "environment process: env.process.command: hello: no reply in time",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			config := the(command, 1, 1)
			if strings.Contains(want, "in time") {
				config.Process.StartTimeout = rl.Duration(10 * time.Second) // in which a shell says hello there
			}
			kind := rl.Invalid // there, what may pass is Unavailable
			if strings.HasPrefix(want, "environment") {
				kind = rl.Unavailable
			}
			if _, err := open(config); rl.KindOf(err) != kind || !strings.HasPrefix(err.Error(), want) {
				t.Error(err)
			}
		})
	}
	config := the(python, 1, 1)
	config.Process.Env = "A=PATH, B=NO_SUCH_VARIABLE"
	if _, err := open(config); err == nil || err.Error() != "env.process.env: the environment variable NO_SUCH_VARIABLE is not set where this worker runs" {
		t.Error(err)
	}
}

// What has left the program's group may hold its pipes for as long as it likes.
func TestADaemonHoldsNobodyUp(t *testing.T) {
	began := time.Now()
	_, err := open(the("setsid sleep 60 & echo up >&2; exit 1", 1, 1))
	if err == nil || !strings.HasSuffix(err.Error(), "with status 1; it wrote: up") || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// A value that is not for the log is not in it by halves, where a line is cut.
func TestCutLinesHideSecrets(t *testing.T) {
	s := newSaid(slog.New(slog.DiscardHandler), child.NewHider(map[string]string{"not-for-the-log": "KEY"}))
	s.listen(strings.NewReader(strings.Repeat("x", saidLine-5) + "not-for-the-log\nnext\n"))
	if got := s.last(); strings.Contains(got, "not-f") || !strings.HasSuffix(got, "xx[KEY]\nnext") {
		t.Error(got)
	}
	if got := s.quote([]byte(strings.Repeat("x", saidQuote-5) + "not-for-the-log")); !strings.HasSuffix(got, `xx[KEY]"`) {
		t.Error(got)
	}
}

// A second program that says something else of itself is another world.
func TestProgramsAreAlike(t *testing.T) {
	w, _ := opened(t, the(faulty("changing"), 2, 1))
	first, second := w.New(), w.New()
	defer first.Close()
	begin(t, first, w.Task(rl.Train, 0))
	if _, err := second.Reset(t.Context(), w.Task(rl.Train, 0)); rl.KindOf(err) != rl.Conflict || !strings.HasPrefix(err.Error(), "env.process: faulty says something else of itself") {
		t.Error(err)
	}
}

// The log hears what a program writes beside its replies, within limits, and no secret.
func TestLog(t *testing.T) {
	t.Setenv("FAULTY_KEY", "not-for-the-log")
	was, heard := envs.Log, &bytes.Buffer{}
	envs.Log = slog.New(slog.NewTextHandler(heard, nil))
	defer func() { envs.Log = was }()
	for _, c := range []struct {
		fault, want string
		lines       int // at most
	}{
		{"crash", `line="the roof is on fire, and the key is [FAULTY_KEY]"`, 2},
		{"noise", `to="stdout, where only replies belong" line="loading 100 %"`, 3},
		{"flood", `line="line 7"`, saidMinute + 1},
	} {
		heard.Reset()
		config := the(faulty(c.fault), 1, 1)
		config.Process.Env = "FAULTY_KEY=FAULTY_KEY"
		w, inside := opened(t, config)
		e := w.New()
		begin(t, e, w.Task(rl.Train, 0))
		mustStep(t, e, "go", "{}")
		step(t.Context(), e, "go", "{}")
		inside.pool.end(t)
		got := heard.String()
		if !strings.Contains(got, c.want) || strings.Contains(got, "not-for-the-log") || strings.Count(got, "\n") > c.lines {
			t.Errorf("%s: %d lines: %.600s", c.fault, strings.Count(got, "\n"), got)
		}
	}
}
