//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// What a job finds damaged or missing, or leaves so, is made good, and the run ends as it would have.
func TestJobsMeetDamage(t *testing.T) {
	want := aJobRun(t, 1).finish(t)
	for _, fault := range []string{"spec missing", "spec damaged", "spec newer", "batch missing", "batch damaged", "claim damaged", "claim of another", "result damaged", "no such chunk"} {
		t.Run(fault, func(t *testing.T) {
			c := aJobRun(t, 1)
			if got := c.finish(t, "LONGHAUL_JOB_FAULT="+fault); got != want {
				t.Errorf("ended with %+v, want %+v", got, want)
			}
			for _, a := range c.shown(t, 1).Job.Attempts {
				t.Logf("%+v", a)
			}
		})
	}
}

// What another attempt cannot make good ends the run, or pauses it, and says why.
func TestJobsRefuseWhatIsNotTheirs(t *testing.T) {
	for fault, says := range map[string]string{
		"result newer": `its schema is "longhaul/result/9", and this program knows "longhaul/result/1"`,
		"wrong spec":   "it is the result of another job, 000000000000",
		"wrong tokens": "tokens of",
	} {
		t.Run(fault, func(t *testing.T) {
			cmd, errs := aJobRun(t, 1).train("")
			cmd.Env = append(cmd.Env, "LONGHAUL_JOB_FAULT="+fault)
			if out, err := cmd.Output(); err == nil || !strings.Contains(errs.String(), says) {
				t.Errorf("%v\n%s\n%s", err, out, errs)
			}
		})
	}
}

// A job that fails for good, or takes too long, pauses the run, which says why; resumed, the run has it tried again.
func TestJobsThatPauseTheRun(t *testing.T) {
	for fault, says := range map[string]string{
		"older trainer": `attempt 1 failed: exit code 42: spec: its schema "longhaul/update/1" is not one that this trainer knows`,
		"slow":          "longer than update.timeout, 15s, and was ended",
	} {
		t.Run(fault, func(t *testing.T) {
			timeout := map[string]string{"older trainer": "10m", "slow": "15s"}[fault] // the next attempt has as long
			c := jobRunOf(t, "use: local, timeout: "+timeout+", local: {python: trainer}", 1)
			cmd, _ := c.train("")
			cmd.Env = append(cmd.Env, "LONGHAUL_JOB_FAULT="+fault)
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s := c.until(t, func(s runStatus) bool { return s.State == "paused" })
			if s.WaitingFor == nil || !strings.Contains(s.WaitingFor.Why, says) {
				t.Errorf("it waits for %+v", s.WaitingFor)
			}
			if left := c.processes(t, "trainer"); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
			if b, err := command("resume", "jobs", "--data", c.data).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s\n%v", err, out.Bytes(), cmd.Stderr)
			}
			if a := c.shown(t, 1).Job.Attempts; len(a) != 2 || a[1].State != "done" {
				t.Errorf("the attempts were %+v", a)
			}
		})
	}
}

// Of two jobs of one spec with two owners, one trains, and both end well.
func TestTwoJobsRace(t *testing.T) {
	c := aJobRun(t, 1)
	cmd, _ := c.train("")
	held, release := hold(t)
	cmd.Env = append(cmd.Env, held)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := c.job(t)
	say := func(what string) {
		t.Helper()
		if b, err := command(what, "jobs", "--data", c.data).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, b)
		}
	}
	say("pause") // the run's end would take the store from rivals that are late
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", first))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 3 {
		rival := &exec.Cmd{Path: command().Path, Args: []string{"trainer"}, Dir: t.TempDir()}
		rival.Env = append(strings.Split(strings.TrimRight(string(env), "\x00"), "\x00"), fmt.Sprint("LONGHAUL_OWNER=rival ", i))
		var said bytes.Buffer
		rival.Stdout, rival.Stderr = &said, &said
		if err := rival.Start(); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := rival.Wait(); err != nil {
				t.Errorf("rival %d: %v\n%s", i, err, said.Bytes())
			}
		})
	}
	release()
	all.Wait()
	say("resume")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%v", err, out.Bytes(), cmd.Stderr)
	}
	if want := aJobRun(t, 1).finish(t); doneOf(t, out.Bytes()) != want {
		t.Errorf("ended with %+v, want %+v", doneOf(t, out.Bytes()), want)
	}
	use := c.shown(t, 1).Summary.Job
	if use.Attempts != 1 {
		t.Errorf("it took %+v", use)
	}
}
