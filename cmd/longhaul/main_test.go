package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.temporal.io/api/serviceerror"
	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/rl"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"longhaul": faulty, "servers": servers, "trainer": trainer})
}

// faulty is the longhaul command, with the faults that LONGHAUL_FAULTS describes before its embedded store.
func faulty() {
	plan, err := faults.Parse(os.Getenv("LONGHAUL_FAULTS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	os.Exit(run(os.Args[1:], plan.Transport))
}

// The scripts in testdata run the real binary, with everything embedded.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("LONGHAUL_THREADS", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await, "pause": pause, "exits": exits, "eventually": eventually, "follow": follow, "damage": damage, "jsonlines": jsonLines},
	})
}

// await FILE waits until a file is there.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("use: await FILE")
	}
	for range 3600 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s does not appear", args[0])
}

// pause DURATION waits, for commands in the background to be at work.
func pause(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("use: pause DURATION")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	time.Sleep(d)
}

// exits CODE COMMAND ARGS... runs a command that must end with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("use: exits CODE COMMAND ARGS...")
	}
	code, err := 0, ts.Exec(args[1], args[2:]...)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// eventually COMMAND ARGS... runs a command until it succeeds, for three minutes at most.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || neg {
		ts.Fatalf("use: eventually COMMAND ARGS...")
	}
	var err error
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
	}
	ts.Fatalf("%v: %v", args, err)
}

var shownID = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*[/@]\S+) `)

// follow ID shows what the id names, then the first and the last thing that it lists, and so on to the bottom.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("use: follow ID")
	}
	ts.Check(ts.Exec("longhaul", "show", args[0]))
	listed := shownID.FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	var below []string
	for _, id := range listed {
		if rest, ok := strings.CutPrefix(id[1], args[0]); ok && rest != "" {
			below = append(below, id[1])
		}
	}
	if len(below) == 0 {
		if strings.Count(args[0], "/") < 3 {
			ts.Fatalf("%s lists nothing to go on with", args[0])
		}
		return
	}
	follow(ts, neg, below[:1])
	if last := below[len(below)-1:]; last[0] != below[0] {
		follow(ts, neg, last)
	}
}

// damage DIR flips a byte in the middle of every file below DIR.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("use: damage DIR")
	}
	n := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			return err
		}
		n++
		b[len(b)/2] ^= 0xff
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		return os.WriteFile(path, b, 0o600)
	}))
	if n == 0 {
		ts.Fatalf("no file to damage in %s", args[0])
	}
}

// jsonlines FILE KEY... checks that every line of FILE is a JSON object, and that each KEY is in one of them.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || neg {
		ts.Fatalf("use: jsonlines FILE KEY...")
	}
	seen := map[string]bool{}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			ts.Fatalf("%s holds a line that is no JSON object: %q", args[0], line)
		}
		for key := range o {
			seen[key] = true
		}
	}
	for _, key := range args[1:] {
		if !seen[key] {
			ts.Fatalf("no line of %s has the key %s", args[0], key)
		}
	}
}

func TestExitCode(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, 0},
		{t.Context(), errors.New("anything"), 1},
		{t.Context(), rl.Errorf(rl.Corrupt, "store", "x"), 1},
		{t.Context(), rl.Errorf(rl.Unavailable, "store", "x"), 1},
		{t.Context(), rl.Errorf(rl.Refused, "policy", "x"), 1},
		{t.Context(), usagef("x"), 2},
		{t.Context(), rl.Errorf(rl.Invalid, "run.yaml", "x"), 2},
		{t.Context(), fmt.Errorf("while: %w", rl.Errorf(rl.NotFound, "run", "x")), 3},
		{t.Context(), rl.Errorf(rl.Conflict, "run", "x"), 4},
		{t.Context(), serviceerror.NewCanceled("the workflow"), 1},
		{interrupted, nil, 0},
		{interrupted, context.Canceled, 130},
		{interrupted, serviceerror.NewCanceled("the request"), 130},
		{interrupted, rl.Errorf(rl.Unavailable, "store", "%w", context.Canceled), 130},
		{interrupted, errors.New("closed"), 130},
	} {
		if got := exitCode(c.ctx, c.err); got != c.want {
			t.Errorf("exitCode(%v, %v) = %d, want %d", c.ctx.Err(), c.err, got, c.want)
		}
	}
}

func TestParseAddress(t *testing.T) {
	for in, want := range map[string]address{
		"orders-1":                            {run: "orders-1", task: "-"},
		"orders-1/":                           {run: "orders-1", task: "-"},
		"orders-1/12":                         {run: "orders-1", depth: 1, update: 12, task: "-"},
		"orders-1/00000012":                   {run: "orders-1", depth: 1, update: 12, task: "-"},
		"orders-1/12/train-17":                {run: "orders-1", depth: 2, update: 12, task: "train-17"},
		"orders-1/12/train-17/3":              {run: "orders-1", depth: 3, update: 12, task: "train-17", member: 3},
		"orders-1@40":                         {run: "orders-1", update: 40, version: "orders-1@000040", evaluation: "-", task: "-", play: "greedy"},
		"orders-1@best":                       {run: "orders-1", pointer: "best", evaluation: "-", task: "-", play: "greedy"},
		"orders-1@latest/ab12":                {run: "orders-1", depth: 1, pointer: "latest", evaluation: "ab12", task: "-", play: "greedy"},
		"orders-1@000040/ab12":                {run: "orders-1", depth: 1, update: 40, version: "orders-1@000040", evaluation: "ab12", task: "-", play: "greedy"},
		"orders-1@000040/ab12/eval-7/sampled": {run: "orders-1", depth: 3, update: 40, version: "orders-1@000040", evaluation: "ab12", task: "eval-7", play: "sampled"},
	} {
		if got, err := parseAddress(in); err != nil || got != want {
			t.Errorf("parseAddress(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "/", "Orders", "a/b", "a/-1", "a/+1", "a/1/", "a//1", "a/1/t/x", "a/1/t/1/1", "a@", "a@x", "a@-1", "a@worst", "A@best", "a@1/k/t/loud", "a@1//t", "a/99999999999", "a/1/t/"} {
		if in == "a/1/" || in == "a/1/t/" {
			continue // a trailing slash is what completion leaves
		}
		if got, err := parseAddress(in); exitCode(t.Context(), err) != exitUsage {
			t.Errorf("parseAddress(%q) = %+v, %v; want a usage error", in, got, err)
		}
	}
}

// Whatever is typed in the place of an id, it is a place or a usage error.
func TestAnyAddress(t *testing.T) {
	part := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9./@+-]{0,12}`), rapid.SampledFrom([]string{"orders-1", "12", "train-17", "orders-1@best", "a@000040", "greedy", "-1", "99999999999999999999", ""}))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), rapid.SampledFrom([]string{"/", "@", "//"}).Draw(t, "between"))
		at, err := parseAddress(s)
		if err != nil {
			if exitCode(context.Background(), err) != exitUsage {
				t.Fatal(err)
			}
			return
		}
		if !at.run.Valid() || at.update < 0 || at.member < 0 || at.depth < 0 || at.depth > 3 {
			t.Fatalf("%q is %+v", s, at)
		}
	})
}

// Whatever a file of tasks holds, it is a list of different indices, or an error that names the file.
func TestAnyFileOfTasks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.txt")
	line := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9 #\r\t-]{0,8}`), rapid.SampledFrom([]string{"100003", "100004 # a hard one", "99999999999999999999", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n")
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readIndices(file)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), file) {
				t.Fatal(err)
			}
			return
		}
		slices.Sort(all)
		if len(all) == 0 || all[0] < 0 || len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Fatalf("%q is %v", body, all)
		}
	})
}

func TestLiveLineNeverRunsIntoOthers(t *testing.T) {
	var out, errs bytes.Buffer
	o := &output{stdout: &out, stderr: &errs, live: true, width: 12}
	o.now("update %d", 1)
	o.now("a line that is too long")
	o.say("done")
	o.now("more")
	o.print("result\n")
	const wipe = "\r\x1b[K"
	if want := wipe + "update 1" + wipe + "a line that" + wipe + "done\n" + wipe + "more" + wipe; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
	if out.String() != "result\n" {
		t.Errorf("stdout %q", out.String())
	}
	o.quiet = true
	o.say("x")
	o.now("y")
	if strings.ContainsAny(errs.String(), "xy") {
		t.Errorf("quiet, but %q", errs.String())
	}
}

func TestUpdateEventHasThePublishedShape(t *testing.T) {
	var out, errs bytes.Buffer
	o := &output{stdout: &out, stderr: &errs, json: true, width: 100}
	u := rl.UpdateSummary{Run: "a", Update: 3, Time: time.Unix(0, 0).UTC(), Success: .5, RewardMean: .25, RewardStd: .125, ZeroVarianceFraction: .75, Loss: -1, Tokens: 10, Turns: 4, Seconds: rl.Seconds{Rollout: 2}}
	if err := o.updates(40).done(u, -1); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"update","time":"1970-01-01T00:00:00Z","run":"a","update":3,"success":0.5,"reward_mean":0.25,"reward_std":0.125,"zero_variance_fraction":0.75,"loss":-1,"tokens":10,"turns":4,` +
		`"seconds":{"sample":0,"rollout":2,"judge":0,"advantage":0,"update":0,"checkpoint":0,"publish":0}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
	if !strings.HasPrefix(errs.String(), "update 3/40 success=0.500 ") {
		t.Errorf("stderr %q", errs.String())
	}
}

func TestDoneEventHasThePublishedShape(t *testing.T) {
	before := rl.Evaluation{Greedy: rl.Rate{Mean: .3, Low: .2, High: .4}, Sampled: rl.Rate{Mean: .25, Low: .15, High: .35}}
	after := rl.Evaluation{Tasks: 200, Greedy: rl.Rate{Mean: .9, Low: .8, High: .95}, Sampled: rl.Rate{Mean: .92, Low: .85, High: .96}}
	b, err := json.Marshal(doneEvent{"done", time.Unix(0, 0).UTC(), "a", 40, doneCheckpoint{"a@000040", "ff"}, compared(before, after), 39.5})
	want := `{"event":"done","time":"1970-01-01T00:00:00Z","run":"a","updates":40,"checkpoint":{"version":"a@000040","sha256":"ff"},` +
		`"heldout":{"tasks":200,"before":0.25,"after":0.9,"before_ci":[0.15,0.35],"after_ci":[0.8,0.95],"before_play":{"greedy":0.3,"sampled":0.25},"after_play":{"greedy":0.9,"sampled":0.92}},"wall_seconds":39.5}`
	if err != nil || string(b) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, b, want)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 5 << 30: "5.0 GiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
}
