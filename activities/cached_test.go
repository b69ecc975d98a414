package activities

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// What is made once is made once, by whoever came first, and who asks for something else does not wait.
func TestCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Activities
		var m map[string]*making[int]
		var made atomic.Int32
		gate := make(chan struct{})
		got := make(chan int, 3)
		for range 3 {
			go func() {
				v, _ := cached(t.Context(), &a, &m, "slow", func() (int, error) { <-gate; return int(made.Add(1)), nil })
				got <- v
			}()
		}
		synctest.Wait()
		if v, err := cached(t.Context(), &a, &m, "other", func() (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Fatal(v, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := cached(gone, &a, &m, "slow", nil); !errors.Is(err, context.Canceled) {
			t.Fatal("waited beyond its own end:", err)
		}
		close(gate)
		for range 3 {
			if v := <-got; v != 1 {
				t.Errorf("made %d times", v)
			}
		}
	})
}

// A failure is not kept, and a caller that goes away takes nobody along.
func TestCachedFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Activities
		var m map[string]*making[int]
		if _, err := cached(t.Context(), &a, &m, "k", func() (int, error) { return 0, errors.New("down") }); err == nil || len(m) != 0 {
			t.Fatal(err, m)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cached(ctx, &a, &m, "k", func() (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		synctest.Wait()
		got := make(chan int)
		go func() {
			v, _ := cached(t.Context(), &a, &m, "k", func() (int, error) { return 5, nil })
			got <- v
		}()
		synctest.Wait()
		cancel()
		if v := <-got; v != 5 {
			t.Error(v)
		}
	})
}
