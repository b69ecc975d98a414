package envs

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// A kind's world is opened once for a configuration, whatever its tasks, and refuses tasks that it does not have.
func TestKindsOpenOnce(t *testing.T) {
	times := 0
	RegisterKind(Kind{Name: "counted", Open: func(c rl.EnvConfig) (World, error) {
		times++
		if c.SQLite.Dir == "" {
			return World{}, rl.Errorf(rl.Invalid, "env.sqlite.dir", "none")
		}
		return World{Name: "counted", Count: func(s rl.Split) int {
			return map[rl.Split]int{rl.Train: 11 - len(c.SQLite.Dir), rl.Eval: len(c.SQLite.Dir) - 1}[s]
		}}, nil
	}})
	t.Cleanup(func() { forget("counted") })
	ranges := func(train, eval int) rl.TasksConfig {
		return rl.TasksConfig{Train: rl.TaskRange{Last: train}, Eval: rl.TaskRange{Last: eval}}
	}
	some, noEval, noTrain := rl.SQLiteConfig{Dir: "abc"}, rl.SQLiteConfig{Dir: "a"}, rl.SQLiteConfig{Dir: "abcdefghijk"}
	for _, c := range []struct {
		config rl.EnvConfig
		err    string
		times  int
	}{
		{rl.EnvConfig{Use: "counted", SQLite: some, Tasks: ranges(7, 1)}, "", 1},
		{rl.EnvConfig{Use: "counted", SQLite: some, Tasks: ranges(4, 1), MaxTurns: 4, TurnTimeout: 5, EpisodeTimeout: 6}, "", 1},
		{rl.EnvConfig{Use: "counted", SQLite: some, Tasks: ranges(10, 1)}, "env.tasks.train: 0-10, but counted has 8 such tasks: 0-7", 1},
		{rl.EnvConfig{Use: "counted", SQLite: some, Tasks: ranges(7, 12)}, "env.tasks.eval: 0-12, but counted has 2 such tasks: 0-1", 1},
		{rl.EnvConfig{Use: "counted", SQLite: noEval, Tasks: ranges(9, 9)}, "", 2},
		{rl.EnvConfig{Use: "counted", SQLite: noTrain, Tasks: ranges(0, 0)}, "env.tasks.train: 0-0, but counted has no such task", 3},
		{rl.EnvConfig{Use: "counted"}, "env.sqlite.dir: none", 4},
		{rl.EnvConfig{Use: "counted"}, "env.sqlite.dir: none", 5},
		{rl.EnvConfig{Use: "orders", Tasks: ranges(1e9, 1e9)}, "", 5},
		{rl.EnvConfig{Use: "nowhere"}, `env.use: "nowhere" is not one of ` + strings.Join(Names(), ", "), 5},
	} {
		_, err := Open(t.Context(), c.config)
		if said := words(err); said != c.err || times != c.times {
			t.Errorf("%+v: %q, opened %d times", c.config, said, times)
		}
	}
}

// A world without tasks to evaluate with is none to evaluate on; one without a number of them has all there are.
func TestEvaluates(t *testing.T) {
	none := World{Name: "a", Count: func(rl.Split) int { return 0 }}
	if err := none.Evaluates(); rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), "env.tasks.eval: a has no such tasks") {
		t.Error(err)
	}
	if err := (World{}).Evaluates(); err != nil {
		t.Error(err)
	}
}

// While a world takes its time to open, others open, those who wait for it share what it comes to, and each waits on a context of
// its own.
func TestOpeningHoldsNobodyUp(t *testing.T) { synctest.Test(t, openingHoldsNobodyUp) }

func openingHoldsNobodyUp(t *testing.T) {
	slow, times := make(chan error), 0
	RegisterKind(Kind{Name: "slow", Open: func(c rl.EnvConfig) (World, error) {
		if c.SQLite.Dir == "" {
			panic("no directory")
		}
		if c.SQLite.Dir == "slow" {
			times++
			return World{Name: "slow"}, <-slow
		}
		return World{Name: "quick"}, nil
	}})
	t.Cleanup(func() { forget("slow") })
	at := func(dir string) rl.EnvConfig { return rl.EnvConfig{Use: "slow", SQLite: rl.SQLiteConfig{Dir: dir}} }
	errs := make(chan error)
	for range 3 {
		go func() {
			_, err := Open(t.Context(), at("slow"))
			errs <- err
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, at("slow")); rl.KindOf(err) != rl.Unavailable || err.Error() != "environment slow: it is being opened: context deadline exceeded" {
		t.Error(err)
	}
	if w, err := Open(t.Context(), at("quick")); err != nil || w.Name != "quick" {
		t.Errorf("%s, %v", w.Name, err)
	}
	if _, err := Open(t.Context(), at("")); rl.KindOf(err) != rl.Unavailable || !strings.HasPrefix(err.Error(), "environment slow: opening it panicked: no directory\n") {
		t.Error(err)
	}
	synctest.Wait()
	slow <- rl.Errorf(rl.Unavailable, "environment slow", "not now")
	for range 3 {
		if err := <-errs; err == nil || err.Error() != "environment slow: not now" {
			t.Error(err)
		}
	}
	go func() { slow <- nil }()
	if w, err := Open(t.Context(), at("slow")); err != nil || w.Name != "slow" || times != 2 {
		t.Errorf("%s, %v, opened %d times", w.Name, err, times)
	}
}

// forget takes a kind back, and what was opened.
func forget(kind string) {
	delete(kinds, kind)
	opened.Lock()
	defer opened.Unlock()
	clear(opened.worlds)
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestGetListsTheNames(t *testing.T) {
	if _, err := Get("order"); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), `"order" is not one of `) || !strings.Contains(err.Error(), "orders") {
		t.Error(err)
	}
}
