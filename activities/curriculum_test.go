package activities

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// school is a configuration of so many tasks, of which an update samples some.
func school(tasks, perUpdate int, floor float64) rl.Config {
	return rl.Config{
		Name: run, Env: rl.EnvConfig{Use: "orders", Tasks: rl.TasksConfig{Train: rl.TaskRange{First: 5, Last: 4 + tasks}}, EpisodeTimeout: 1e9, TurnTimeout: 1e9},
		Sampling: rl.SamplingConfig{Seed: 7}, Group: rl.GroupConfig{Size: 2, PerUpdate: perUpdate}, Curriculum: rl.CurriculumConfig{Floor: floor, Visits: 2},
	}
}

func pupil(split rl.Split, index int) rl.Task {
	return rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: "orders", Split: split, Index: index}
}

// graded is the ledger of an update in which the tasks that teaches names had groups with spread, and the others none.
func graded(tasks []rl.Task, teaches func(rl.Task) bool) rl.Ledger {
	l := rl.Ledger{Schema: rl.LedgerSchema, Run: run}
	for _, t := range tasks {
		for m := range 2 {
			s := rl.Slot{Task: t.ID, Member: m, Score: float64(t.Index % 2)}
			if teaches(t) {
				s.Score = float64(m)
			} else {
				s.LeftOut = rl.ZeroVariance
			}
			l.Slots = append(l.Slots, s)
		}
	}
	return l
}

// Whatever the floor and the tasks: an update has as many tasks as it asks for, each once. Every task comes again within about
// 1/floor shuffles (an update may span two more at each end), and no task comes less often than floor of what it would without a
// curriculum; those that teach come as often as without it, or more often. (Where two shuffles meet within an update, a task of
// both comes once: that is counted apart.)
func TestCurriculumKeepsEveryTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(8, 30).Draw(t, "tasks")
		cfg := school(n, rapid.IntRange(1, n).Draw(t, "per update"), rapid.Float64Range(.05, 1).Draw(t, "floor"))
		share := rapid.IntRange(2, 5).Draw(t, "one in so many teaches")
		teaches := func(t rl.Task) bool { return t.Index%share == 0 }
		visits, seen := map[int]int{}, map[int]int{} // how often, and where in the stream the last one was
		twice := map[int]int{}                       // updates whose stretch of the stream has the task twice
		updates := 12 * n / cfg.Group.PerUpdate
		var c rl.Curriculum
		for range updates {
			tasks, after := take(c, cfg, pupil)
			once := map[rl.TaskID]bool{}
			for _, t := range tasks {
				visits[t.Index]++
				seen[t.Index], once[t.ID] = after.From, true
			}
			stretch := map[int]bool{}
			for at := after.From; at < after.To; at++ {
				i := cfg.Env.Tasks.Train.First + streamed(cfg, at)
				if stretch[i] {
					twice[i]++
				}
				stretch[i] = true
			}
			putOff := 0
			for _, tasks := range after.PutOff {
				putOff += tasks
			}
			if len(once) != cfg.Group.PerUpdate || len(tasks) != len(once) || putOff+len(once) > n {
				t.Fatalf("%d tasks, %d different, of %d, and %d put off", len(tasks), len(once), cfg.Group.PerUpdate, putOff)
			}
			c = after.After(graded(tasks, teaches))
		}
		chance := float64(updates*cfg.Group.PerUpdate) / float64(n) // visits without a curriculum
		for i := cfg.Env.Tasks.Train.First; i <= cfg.Env.Tasks.Train.Last; i++ {
			least := cfg.Curriculum.Floor*chance - 2
			if teaches(pupil(rl.Train, i)) {
				least = chance - 2
			}
			if float64(visits[i]+twice[i]) < least {
				t.Fatalf("task %d came %d times and met itself %d times, %.1f at least; %v", i, visits[i], twice[i], least, visits)
			}
			if gap := float64(c.From-seen[i]) / float64(n); gap > 1/cfg.Curriculum.Floor+4 {
				t.Fatalf("task %d did not come in %.1f shuffles", i, gap)
			}
		}
	})
}

func TestCurriculumLiteral(t *testing.T) {
	cfg := school(100, 10, .1)
	teaches := func(t rl.Task) bool { return t.Index < 25 } // 20 of 100
	early, late := 0, 0
	var c rl.Curriculum
	for n := range 200 {
		tasks, after := take(c, cfg, pupil)
		for _, t := range tasks {
			switch {
			case teaches(t) && n < 20:
				early++
			case teaches(t) && n >= 100:
				late++
			}
		}
		c = after.After(graded(tasks, teaches))
	}
	// Of 20 and of 80 tasks, the latter at a tenth: 20/(20+8) of what is sampled.
	if early != 40 || late < 680 || late > 740 {
		t.Errorf("%d of the first 200 groups teach, and %d of the last 1000", early, late)
	}
	if off := slices.Sorted(maps.Values(c.Off(2))); len(off) != 80 || off[39] != rl.AlikeFailed || off[40] != rl.AlikeSolved {
		t.Errorf("put off are %v", off)
	}
}

// Without a curriculum the tasks are what they were before there was one.
func TestSampledTasksLiteral(t *testing.T) {
	b := opened(t, school(30, 12, 0))
	for n, want := range map[rl.UpdateNumber][]int{
		1: {19, 17, 8, 31, 10, 25, 9, 11, 13, 15, 22, 33},
		2: {20, 23, 5, 32, 12, 24, 29, 30, 27, 28, 18, 34},
		3: {16, 7, 14, 6, 21, 26, 33, 5, 34, 25, 8, 18},
	} {
		if got := b.sampled(t, n); !slices.Equal(got, want) {
			t.Errorf("update %d: %v, not %v", n, got, want)
		}
		if _, err := b.store.Head(t.Context(), store.CurriculumKey(run, n)); rl.KindOf(err) != rl.NotFound {
			t.Errorf("update %d has a curriculum: %v", n, err)
		}
	}
}

// opened is a bench of a run in which nothing is sampled yet.
func opened(t *testing.T, cfg rl.Config) *bench {
	t.Helper()
	b := open(t)
	if err := b.store.Delete(t.Context(), b.in.Tasks.Key); err != nil {
		t.Fatal(err)
	}
	b.configure(t, cfg)
	return b
}

// sampled are the indices of the tasks that SampleGroup gives an update.
func (b *bench) sampled(t *testing.T, n rl.UpdateNumber) (indices []int) {
	t.Helper()
	stage := b.in.Stage
	stage.Update = n
	out, err := b.sampleGroup(t.Context(), SampleGroupIn{Stage: stage})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := store.GetJSON[[]rl.Task](t.Context(), b.store, out.Tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		indices = append(indices, task.Index)
	}
	return indices
}

// An update that is sampled again has the same tasks: by another process, after its records were lost in part or damaged,
// and when the run has gone on meanwhile.
func TestCurriculumSampledAgain(t *testing.T) {
	b := opened(t, school(20, 6, .25))
	const updates = 12
	first := map[rl.UpdateNumber][]int{}
	for n := rl.UpdateNumber(1); n <= updates; n++ {
		first[n] = b.sampled(t, n)
		var tasks []rl.Task
		for _, i := range first[n] {
			tasks = append(tasks, pupil(rl.Train, i))
		}
		l := graded(tasks, func(t rl.Task) bool { return t.Index%3 == 0 })
		l.Update = n
		put(t, b, store.LedgerKey(run, n), l)
	}
	for _, lose := range [][]string{
		{store.TasksKey(run, 9)},
		{store.TasksKey(run, 9), store.CurriculumKey(run, 9)},
		{store.TasksKey(run, 9), store.CurriculumKey(run, 9), store.CurriculumKey(run, 8), store.CurriculumKey(run, 7)},
		{store.TasksKey(run, 2), store.CurriculumKey(run, 2), store.CurriculumKey(run, 1)},
	} {
		for i, key := range lose {
			err := b.store.Delete(t.Context(), key)
			if i > 0 { // damaged rather than lost
				_, err = b.store.Put(t.Context(), key, []byte("{"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b.restart()
		for n := rl.UpdateNumber(1); n <= updates; n++ {
			if got := b.sampled(t, n); !slices.Equal(got, first[n]) {
				t.Errorf("without %v update %d has %v, not %v", lose, n, got, first[n])
			}
		}
	}
	if slices.Equal(first[1], first[updates]) {
		t.Error("all updates have the same tasks")
	}
}

// A curriculum that is set while the run goes on begins where the stream of tasks is by then, with what it learns from then on.
func TestCurriculumBeginsLate(t *testing.T) {
	b := opened(t, school(30, 12, 0))
	b.sampled(t, 1)
	b.configure(t, school(30, 12, .25))
	if got, want := b.sampled(t, 2), []int{20, 23, 5, 32, 12, 24, 29, 30, 27, 28, 18, 34}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	_, c, err := store.FindJSON[rl.Curriculum](t.Context(), b.store, store.CurriculumKey(run, 2))
	if err != nil || c.From != 12 || c.To != 24 || len(c.Streaks) > 0 {
		t.Errorf("%+v %v", c, err)
	}
}

// The ledger tells how many tasks were put off, and why.
func TestPutOffIsOnTheLedger(t *testing.T) {
	cfg := school(8, 4, .25)
	cfg.Advantage = rl.AdvantageConfig{Use: "dr_grpo"}
	b := opened(t, cfg)
	put(t, b, store.CurriculumKey(run, 1), rl.Curriculum{Schema: rl.CurriculumSchema, Run: run, Update: 1, PutOff: map[rl.Alike]int{rl.AlikeSolved: 3}})
	tasks := put(t, b, store.TasksKey(run, 1), []rl.Task{})
	if _, err := b.computeAdvantages(t.Context(), ComputeAdvantagesIn{Stage: b.in.Stage, Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	_, l, err := store.FindJSON[rl.Ledger](t.Context(), b.store, store.LedgerKey(run, 1))
	if err != nil || !reflect.DeepEqual(l.PutOff, map[rl.Alike]int{rl.AlikeSolved: 3}) {
		t.Errorf("%+v %v", l, err)
	}
}
