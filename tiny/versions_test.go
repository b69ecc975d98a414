package tiny

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// A version is loaded once however many ask for it, four are kept, a failure is not remembered.
func TestVersions(t *testing.T) {
	s, loads := serve(t, 1)
	ask := func(n int) int {
		code, _ := post(s, fmt.Sprintf(`{"model":"a@%d","max_tokens":1,%s}`, n, hello))
		return code
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { ask(0) })
	}
	group.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("loaded %d times", n)
	}
	for _, n := range []int{1, 2, 3, 0, 4, 0, 77, 1} { // 1 was forgotten when 4 came
		ask(n)
	}
	if n := loads.Load(); n != 6 || len(s.versions.loaded()) != keptVersions {
		t.Errorf("loaded %d times, holds %v", n, s.versions.loaded())
	}
	fail := true
	s2 := NewServer(func(context.Context, rl.Version) (*nn.Model, error) {
		if fail {
			return nil, rl.Errorf(rl.Unavailable, "store", "no connection")
		}
		return smallModel(1), nil
	}, 1)
	defer s2.Close()
	const body = `{"model":"a@1","max_tokens":1,` + hello + `}`
	if code, _ := post(s2, body); code != 503 {
		t.Error(code)
	}
	fail = false
	if code, _ := post(s2, body); code != 200 {
		t.Error(code)
	}
}

// One client that waits for a slow load can go; the load goes on for the others.
func TestSlowLoad(t *testing.T) {
	release := make(chan struct{})
	s := NewServer(func(ctx context.Context, _ rl.Version) (*nn.Model, error) {
		<-release
		return smallModel(1), ctx.Err()
	}, 1)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.versions.get(ctx, "a@1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	close(release)
	if code, answer := post(s, `{"model":"a@1","max_tokens":1,`+hello+`}`); code != 200 {
		t.Fatal(code, answer)
	}
}

// A version that cannot be loaded is never listed among those that answer, not even while its failure is told.
func TestFailedVersionIsNeverListed(t *testing.T) {
	v := versions{ctx: t.Context(), forgot: func(*nn.Model) {}, load: func(context.Context, rl.Version) (*nn.Model, error) {
		return nil, errors.New("no such version")
	}}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 2000 {
				if _, err := v.get(t.Context(), "run@000002"); err == nil {
					t.Error("it was loaded")
				}
				if names := v.loaded(); len(names) > 0 {
					t.Errorf("listed: %v", names)
					return
				}
			}
		})
	}
	wg.Wait()
}
