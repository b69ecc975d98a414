package tiny

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

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
