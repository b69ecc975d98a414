package activities

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// replay does an episode again; number tells replays apart.
func (b *bench) replay(t *testing.T, r rl.ReplaySpec) rl.Replay {
	t.Helper()
	r.Of, r.Version = b.in.episode("t", 0), "faults@000000"
	out, err := b.replayEpisode(t.Context(), ReplayIn{b.in.Stage, r}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A rollout whose tool was out in its third call: replayed from its journal, the failure is there again; once the tool
// works, the replay goes on from where the original failed. The original stays as it was.
func TestReplayOfAFailure(t *testing.T) {
	b := openWalk(t, 5, "go")
	works := walkStep
	out := func(ctx context.Context, tool string, n int) (envs.Result, error) {
		if n == 3 {
			return envs.Result{}, rl.Errorf(rl.Unavailable, "environment walk", "the tool is out")
		}
		return works(ctx, tool, n)
	}
	walkStep = out
	b.played(t, 0, map[rl.LeftOut]int{rl.EnvFailed: 1})
	asked := b.asked("t")

	again := b.replay(t, rl.ReplaySpec{Number: 1, Recorded: 3, Exact: true})
	if again.Failure == nil || !strings.Contains(again.Failure.Why, "the tool is out") || again.Turns != 3 || b.asked("t") != asked || again.Parts != nil {
		t.Fatalf("%+v, asked %d", again, b.asked("t")-asked)
	}
	walkStep = works
	mended := b.replay(t, rl.ReplaySpec{Number: 2, Recorded: 3, Exact: true})
	if mended.Failure != nil || mended.Stop != rl.EndOfRecord || mended.Turns != 3 || b.asked("t") != asked {
		t.Fatalf("%+v", mended)
	}
	live := b.replay(t, rl.ReplaySpec{Number: 3, Recorded: 3})
	if live.Stop != rl.MaxTurns || live.Turns != 5 || b.asked("t") != asked+2 || !strings.HasPrefix(live.Original, "failed_environment: ") {
		t.Fatalf("%+v, asked %d", live, b.asked("t")-asked)
	}
	walkStep = func(_ context.Context, _ string, n int) (envs.Result, error) {
		return envs.Result{Content: "another world"}, nil
	}
	parts := b.replay(t, rl.ReplaySpec{Number: 4, Recorded: 3})
	if parts.Failure == nil || parts.Failure.LeftOut != rl.Voided || parts.Parts == nil || parts.Parts.Turn != 1 || !strings.Contains(parts.Parts.Is, "another world") {
		t.Fatalf("%+v %+v", parts, parts.Parts)
	}
	if f := b.left(t, "t"); f.LeftOut != rl.EnvFailed {
		t.Error(f)
	}
	walkStep = out
	if same := b.replay(t, rl.ReplaySpec{Number: 3, Recorded: 3}); same.Stop != live.Stop || *same.Trajectory != *live.Trajectory {
		t.Errorf("asked for again: %+v", same)
	}
	if report, err := b.store.Verify(t.Context(), run); err != nil || len(report.Faults) > 0 {
		t.Error(err, report.Faults)
	}
}

// A finished rollout, from a turn on; and what it parts in.
func TestReplayFromATurn(t *testing.T) {
	b := openWalk(t, 4, "go")
	b.played(t, 1, nil)
	asked := b.asked("t")
	if r := b.replay(t, rl.ReplaySpec{Number: 1, Recorded: 4}); r.Parts != nil || r.Stop != rl.MaxTurns || b.asked("t") != asked {
		t.Fatalf("%+v", r)
	}
	if r := b.replay(t, rl.ReplaySpec{Number: 2, Recorded: 1}); r.Parts != nil || r.Turns != 4 || b.asked("t") != asked+3 {
		t.Fatalf("%+v", r)
	}
	if _, err := b.store.Trajectory(t.Context(), store.ReplayTrajectoryKey(b.in.episode("t", 0), 2)); err != nil {
		t.Fatal(err)
	}
	_, err := b.replayEpisode(t.Context(), ReplayIn{b.in.Stage, rl.ReplaySpec{Of: b.in.episode("none", 0), Number: 1}}, time.Now())
	if rl.KindOf(err) != rl.NotFound {
		t.Fatal(err)
	}
	_, err = b.replayEpisode(t.Context(), ReplayIn{b.in.Stage, rl.ReplaySpec{Of: b.in.episode("t", 7), Number: 1}}, time.Now())
	if rl.KindOf(err) != rl.NotFound || !strings.Contains(err.Error(), "nothing is recorded of it") {
		t.Fatal(err)
	}
}

// A replay sends nothing outside: recorded calls are answered from the record, others are refused.
func TestReplayStaysInside(t *testing.T) {
	b := openWalk(t, 3, "pay")
	sent := 0
	walkStep = func(_ context.Context, tool string, n int) (envs.Result, error) {
		sent++
		if sent == 3 {
			return envs.Result{}, errors.New("connection reset")
		}
		return envs.Result{Content: "paid"}, nil
	}
	b.played(t, 0, map[rl.LeftOut]int{rl.Voided: 1})
	r := b.replay(t, rl.ReplaySpec{Number: 1, Recorded: 3})
	if r.Failure == nil || sent != 3 || !strings.Contains(r.Failure.Why, "it is not executed here") {
		t.Fatalf("%+v %d", r, sent)
	}
}
