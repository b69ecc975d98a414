package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

func TestOutageIsWaitedForAndToldOnce(t *testing.T) {
	var errs bytes.Buffer
	o := &output{stdout: &errs, stderr: &errs, width: 100}
	f := &follower{table: o.updates(1)}
	away := fmt.Errorf("failed reaching server: %w", serviceerror.NewUnavailable("connection refused"))
	for _, err := range []error{nil, away, away, serviceerror.NewDeadlineExceeded("slow"), context.DeadlineExceeded, nil, nil,
		rl.Errorf(rl.Unavailable, "store runs/a", "503"), rl.Errorf(rl.Unavailable, "store runs/b", "503"), nil} {
		if got := f.wait(t.Context(), err); got != nil {
			t.Errorf("%v ends following: %v", err, got)
		}
	}
	var told []string
	for line := range strings.Lines(errs.String()) {
		told = append(told, line[:strings.IndexAny(line, "0123456789")])
	}
	want := []string{"waiting for Temporal since ", "Temporal answers again, after ", "waiting for the store since ", "the store answers again, after "}
	if strings.Join(told, "|") != strings.Join(want, "|") {
		t.Errorf("told %q, want %q\n%s", told, want, errs.String())
	}
}

func TestWhatEndsFollowing(t *testing.T) {
	f := &follower{table: (&output{stderr: &bytes.Buffer{}, quiet: true}).updates(1)}
	for _, err := range []error{errors.New("x"), rl.Errorf(rl.Corrupt, "store", "x"), serviceerror.NewNotFound("x"), serviceerror.NewPermissionDenied("x", "")} {
		if got := f.wait(t.Context(), err); got != err {
			t.Errorf("%v: got %v, want it as it is", err, got)
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if got := f.wait(interrupted, serviceerror.NewUnavailable("x")); got != context.Canceled {
		t.Errorf("interrupted: %v", got)
	}
	gone := errors.New("the holder has ended")
	f.over = func() error { return gone }
	if got := f.wait(t.Context(), serviceerror.NewUnavailable("x")); got != gone {
		t.Errorf("without a holder: %v", got)
	}
}

func TestAFullDiskIsToldOnce(t *testing.T) {
	var errs bytes.Buffer
	o := &output{stdout: &errs, stderr: &errs, width: 100}
	full := ""
	f := &follower{table: o.updates(1), full: func() string { return full }}
	for _, full = range []string{"", "full", "full", "", "", "full"} {
		if err := f.wait(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := "full\nthere is room on the disk again\nfull\n"; errs.String() != want {
		t.Errorf("told %q, want %q", errs.String(), want)
	}
}

func TestAPauseIsToldOnce(t *testing.T) {
	var errs bytes.Buffer
	f := &follower{table: (&output{stdout: &errs, stderr: &errs, width: 100}).updates(1)}
	paused := runStatus{Run: "a", State: workflows.Paused, WaitingFor: &waiting{What: "resume", Why: "paused by ann (lunch)"}}
	for _, s := range []runStatus{{Run: "a", State: workflows.Running}, paused, paused, {Run: "a", State: workflows.Running}, {Run: "a", State: workflows.Running}} {
		f.pause(s)
	}
	if want := "run a is paused: paused by ann (lunch)\n`longhaul resume a` lets it go on\nrun a goes on\n"; errs.String() != want {
		t.Errorf("told %q, want %q", errs.String(), want)
	}
}
