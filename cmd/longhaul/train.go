package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

func (a *app) trainCommand() *cobra.Command {
	var file string
	var detach bool
	c := a.jsonFlag(&cobra.Command{
		Use: "train -f run.yaml", Short: "Start a run, or attach to it", GroupID: groupStart,
		Long: "train starts the run that run.yaml describes, or attaches to it when it exists with the same configuration.\n" +
			"Where a process holds --data (`longhaul up`) or TEMPORAL_ADDRESS is set, the run is worked on there and goes on\n" +
			"when this command ends. Else this process works on it: interrupt it and run it again, and it goes on.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(file)
			if err != nil {
				return err
			}
			if detach {
				return a.detach(cmd.Context(), cfg)
			}
			return a.train(cmd.Context(), cfg, true, nil, nil)
		},
	})
	c.Flags().StringVarP(&file, "file", "f", "run.yaml", "the run's configuration")
	c.Flags().BoolVar(&detach, "detach", false, "start the run and return; something else must work on it")
	return c
}

func readConfig(file string) (rl.Config, error) {
	src, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return rl.Config{}, rl.Errorf(rl.Invalid, file, "no such file; `longhaul init` writes one")
	}
	if err != nil {
		return rl.Config{}, rl.Errorf(rl.Invalid, file, "%w", err)
	}
	cfg, err := config.Parse(file, src, registered())
	for key, text := range filed(&cfg) {
		if err == nil {
			*text, err = fromFile(key, *text, filepath.Dir(file))
		}
	}
	for _, path := range located(&cfg) {
		if err == nil && *path != "" && !filepath.IsAbs(*path) {
			*path, err = filepath.Abs(filepath.Join(filepath.Dir(file), *path))
		}
	}
	if err == nil {
		err = config.Check(cfg, registered())
	}
	return cfg, err
}

// detach starts the run where others work on it.
func (a *app) detach(ctx context.Context, cfg rl.Config) error {
	c, err := a.connect(ctx, want{Temporal: true, Store: cfg.Store})
	if err != nil {
		return err
	}
	defer c.Close()
	if c.parts != nil {
		return fmt.Errorf("nothing is running here that could work on it: start `longhaul up%s` in another terminal, or leave --detach out", a.dataFlag())
	}
	run, err := a.launch(ctx, c, cfg)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(struct {
			Event    string    `json:"event"`
			Time     time.Time `json:"time"`
			Run      rl.RunID  `json:"run"`
			Workflow string    `json:"workflow"`
		}{"started", time.Now().UTC(), cfg.Name, run})
	}
	a.out.print("run %s is started\n  longhaul status %s%s\n  longhaul watch %s%s\n", cfg.Name, cfg.Name, a.dataFlag(), cfg.Name, a.dataFlag())
	return nil
}

// launch starts the run, or attaches to it, and returns its workflow id.
func (a *app) launch(ctx context.Context, c *conn, cfg rl.Config) (string, error) {
	run, err := workers.Launch(ctx, c.Temporal, c.Store, c.URI, cfg)
	if err != nil {
		return "", err
	}
	return run.GetID(), nil
}

// train works on the run, or follows it where others do (see host), until its end. began and ended (may be nil) tell of
// what is special about a run. Interrupted at any moment, it says how to go on.
func (a *app) train(ctx context.Context, cfg rl.Config, leave bool, began func(*conn), ended func(*follower, doneEvent) error) error {
	h, err := a.host(ctx, want{Store: cfg.Store, Make: true}, leave)
	if err == nil {
		defer h.Close()
		err = a.trainOn(ctx, h, cfg, began, ended)
	}
	if err != nil && ctx.Err() != nil {
		a.out.endLive()
		a.sayHowToGoOn(h, cfg)
	}
	return err
}

func (a *app) trainOn(ctx context.Context, h *host, cfg rl.Config, began func(*conn), ended func(*follower, doneEvent) error) error {
	start := time.Now()
	if h.work != nil {
		if err := a.hasJudgeKey(ctx, h.conn, cfg); err != nil {
			return err
		}
		if err := begins(ctx, h.conn, cfg); err != nil {
			return err
		}
	}
	if _, err := a.launch(ctx, h.conn, cfg); err != nil {
		return err
	}
	if began != nil {
		began(h.conn)
	}
	if h.work == nil && h.Holder == nil && h.workless(ctx) {
		a.out.say("Nobody works on the queue %q of this Temporal yet: start `longhaul worker` there.", workflows.ControlQueue)
	}
	f, err := a.follower(ctx, h.conn, cfg.Name)
	if err != nil {
		return err
	}
	f.failed = h.failed()
	s, err := f.follow(ctx)
	if err != nil {
		return err
	}
	done, err := f.done(ctx, s, time.Since(start))
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(done)
	}
	a.out.say("run %s is done: %s, manifest sha256 %s", cfg.Name, done.Checkpoint.Version, done.Checkpoint.SHA256)
	if ended == nil {
		a.out.say("`longhaul show %s%s` goes down from it to single turns", cfg.Name, a.dataFlag())
	}
	if ended != nil {
		return ended(f, done)
	}
	return nil
}

// sayHowToGoOn tells an interrupted person. h is nil when the parts were only starting.
func (a *app) sayHowToGoOn(h *host, cfg rl.Config) {
	if h != nil && h.work == nil {
		a.out.say("Detached. The run goes on; `longhaul watch %s%s` follows it again.", cfg.Name, a.dataFlag())
		return
	}
	a.out.say("Stopping. Nothing is lost: the same command goes on where this one stopped.")
}

// done sums up a finished run: its last checkpoint, and its first and last evaluation where there are any.
func (f *follower) done(ctx context.Context, s runStatus, wall time.Duration) (doneEvent, error) {
	d := doneEvent{Event: "done", Time: time.Now().UTC(), Run: f.run, Updates: f.config.Updates, WallSeconds: wall.Seconds()}
	if s.Checkpoint == nil {
		return d, fmt.Errorf("run %s is done, but the store has no summary of its last update", f.run)
	}
	d.Checkpoint = doneCheckpoint{s.Checkpoint.Version, s.Checkpoint.SHA256}
	before, ok, err := f.evaluated(ctx, 0)
	if err != nil || !ok {
		return d, err
	}
	after, ok, err := f.evaluated(ctx, rl.UpdateNumber(f.config.Updates))
	if err != nil || !ok {
		return d, err
	}
	d.Heldout = compared(before, after)
	return d, nil
}

// evaluated is the run's own evaluation of version n, if there is one.
func (f *follower) evaluated(ctx context.Context, n rl.UpdateNumber) (rl.Evaluation, bool, error) {
	_, e, err := store.FindJSON[rl.Evaluation](ctx, f.store, store.EvaluationKey(f.run, n, workflows.EvaluationKey(f.config)))
	if rl.KindOf(err) == rl.NotFound {
		return e, false, nil
	}
	return e, err == nil, err
}
