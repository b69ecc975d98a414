package tinker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/rl"
)

var base = Base{Model: simtinker.Base, Rank: 8, Seed: 1}

// taught is an update of two steps on a weight of 1: its advantages add up to 3 and 4, its rates are .1, its beta1 .9.
func taught(from string) Update {
	return Update{Base: base, From: from, Name: "run-00000001-a1", Train: func(ctx context.Context, m *Model) error {
		for _, advantages := range [][]float64{{1, 2}, {4}} {
			for _, a := range advantages {
				row := Row{Inputs: []int32{1}, Targets: []int32{2}, Mask: []bool{true}, LogProbs: []float32{-1}, Advantages: []float64{a}}
				if _, err := m.ForwardBackward(ctx, Loss{"ppo", .8, 1.2}, []Row{row}); err != nil {
					return err
				}
			}
			if _, err := m.Step(ctx, Adam{LearningRate: .1, Beta1: .9, Beta2: .95, Epsilon: 1e-8}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// By hand: momentum -3, then -.9*3-4; weight 1 + .3 + .67.
const weight, momentum = 1.97, -6.7

// initial makes version 0.
func initial(t *testing.T, r *road) Saved {
	t.Helper()
	saved, err := New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), Update{Base: base, Name: "run-00000000-a1"})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// done makes the update on the road and says what its weights are.
func done(t *testing.T, r *road, faults ...fault) (simtinker.State, error) {
	t.Helper()
	from := initial(t, r)
	r.faults, r.calls = faults, nil
	saved, err := New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), taught(from.Weights))
	return r.Saved(saved.Weights), err
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// Every single call of an update meets every fault.
func TestAnUpdateIsAppliedOnceWhateverIsLost(t *testing.T) {
	var calls []string
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		if got, err := done(t, r); err != nil || !near(got.Weight, weight) || !near(got.Momentum, momentum) {
			t.Fatalf("undisturbed: %+v, %v", got, err)
		}
		if calls = r.asked(); len(calls) < 15 {
			t.Fatalf("an update is %d requests: %v", len(calls), calls)
		}
	})
	for f, name := range map[fault]string{drop: "the answer is lost", unsent: "it never arrives", twice: "it is delivered twice", busy: "429",
		broken: "502 though it was served", killed: "the engine is killed before it", after: "the engine is killed after it"} {
		t.Run(name, func(t *testing.T) {
			for at, call := range calls {
				if f == twice && (call == "forward_backward" || call == "optim_step") {
					continue // what a go-between makes of one request, a client cannot know
				}
				synctest.Test(t, func(t *testing.T) {
					r := &road{Service: simtinker.New()}
					faults := make([]fault, at+1)
					faults[at] = f
					got, err := done(t, r, faults...)
					if err != nil || !near(got.Weight, weight) || !near(got.Momentum, momentum) {
						t.Errorf("request %d, %s: %+v, %v\nrequests %v", at, call, got, err, r.asked())
					}
				})
			}
		})
	}
}

// Several faults in a row, of any kind that a client can meet.
func TestAnUpdateIsAppliedOnceAmongManyFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SampledFrom([]fault{none, none, none, none, none, none, drop, unsent, busy, broken, killed, after})
		faults := rapid.SliceOfN(kinds, 0, 40).Draw(rt, "faults")
		var got simtinker.State
		var err error
		synctest.Test(t, func(t *testing.T) { got, err = done(t, &road{Service: simtinker.New()}, faults...) })
		if err == nil && (!near(got.Weight, weight) || !near(got.Momentum, momentum)) {
			rt.Fatalf("%+v", got)
		}
		if err != nil && rl.KindOf(err) != rl.Unavailable {
			rt.Fatalf("a fault of the world is no refusal: %v", err)
		}
	})
}

// SkyRL keeps the gradients of a model that is unloaded for whichever model gets its slot.
func TestGradientsOfAModelThatWasGivenUpAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		from := initial(t, r)
		r.Leave(1000)
		saved, err := New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), taught(from.Weights))
		if got := r.Saved(saved.Weights); err != nil || !near(got.Weight, weight) || !near(got.Momentum, momentum) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestASessionBeatsWhileItsUpdateIsThoughtAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		u := taught(initial(t, r).Weights)
		train := u.Train
		u.Train = func(ctx context.Context, m *Model) error {
			time.Sleep(time.Hour)
			return train(ctx, m)
		}
		tries := 1
		u.Again = func(try int, err error) { tries = try }
		saved, err := New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), u)
		if got := r.Saved(saved.Weights); err != nil || tries != 1 || !near(got.Weight, weight) {
			t.Errorf("%+v, %d tries, %v", got, tries, err)
		}
	})
}

// A save that was pending when the engine died is never ended, and its name is taken for good.
func TestAPoisonedNameIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		from := initial(t, r)
		u := taught(from.Weights)
		train := u.Train
		u.Train = func(ctx context.Context, m *Model) error {
			r.Poison(m.id, "run-00000001-a1-t1")
			return train(ctx, m)
		}
		saved, err := New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), u)
		if err != nil || !strings.HasSuffix(saved.Weights, "/weights/run-00000001-a1-t1-2") {
			t.Fatalf("%+v, %v", saved, err)
		}
		if got := r.Saved(saved.Weights); !near(got.Weight, weight) {
			t.Errorf("%+v", got)
		}
		poisoned := strings.TrimSuffix(saved.Weights, "-2")
		_, err = New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), taught(poisoned))
		if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "425") {
			t.Errorf("from a poisoned name: %v", err)
		}
	})
}

func TestWhatCannotWorkIsSaidAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &road{Service: simtinker.New()}
		from := initial(t, r)
		for name, c := range map[string]struct {
			change func(*Update)
			kind   rl.Kind
			words  string
		}{
			"another base":     {func(u *Update) { u.Base.Model = "other" }, rl.Refused, `the service has the base model "base", not "other"`},
			"no such weights":  {func(u *Update) { u.From = "tinker://model1/weights/nothing" }, rl.NotFound, "Checkpoint not found"},
			"an error of ours": {func(u *Update) { u.Train = func(context.Context, *Model) error { return errors.New("no batch") } }, "", "no batch"},
		} {
			u := taught(from.Weights)
			u.Again = func(int, error) { t.Errorf("%s: it is tried again", name) }
			c.change(&u)
			_, err := New(Options{URL: "http://tinker", Transport: r}).Do(t.Context(), u)
			if rl.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestTheKeyIsNeverRepeated(t *testing.T) {
	r := refuser{}
	_, err := New(Options{URL: "http://u:p@tinker", APIKey: "secret-key-1", Transport: &r}).Do(t.Context(), Update{Base: base, Name: "n"})
	if r.key != "secret-key-1" || err == nil || strings.Contains(err.Error(), "secret") || rl.KindOf(err) != rl.Refused {
		t.Errorf("sent %q, %v", r.key, err)
	}
}

func TestModels(t *testing.T) {
	got, err := New(Options{URL: "http://tinker/", Transport: &road{Service: simtinker.New()}}).Models(t.Context())
	if err != nil || fmt.Sprint(got) != "[base]" {
		t.Error(got, err)
	}
	if _, err := New(Options{URL: "http://tinker", APIKey: "secret-key-1", Transport: &refuser{}}).Models(t.Context()); rl.KindOf(err) != rl.Refused || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestShifted(t *testing.T) {
	nan := float32(math.NaN())
	r := Shifted(rl.Sample{Tokens: []int32{10, 11, 20, 30}, LossMask: []bool{false, false, true, true}, LogProbs: []float32{nan, nan, -.1, -.2}, Advantages: []float32{0, 0, 1, -1}})
	if got, want := fmt.Sprint(r), "{[10 11 20] [11 20 30] [false true true] [0 -0.1 -0.2] [0 1 -1]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
