package rollout

import (
	"errors"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func TestOwnFailure(t *testing.T) {
	for at, want := range map[string]rl.LeftOut{
		"environment faulty": rl.EnvFailed, "journal of faults/1/t/0": "", "store runs/x": "", "policy http://p": "", "env.use": "", "batch": "",
	} {
		for _, kind := range []rl.Kind{rl.Corrupt, rl.Unavailable} {
			if got, final := OwnFailure(rl.Errorf(kind, at, "words")); got != want || final != (want != "" && kind == rl.Corrupt) {
				t.Errorf("%s, %s: %q, final %v", at, kind, got, final)
			}
		}
	}
	if got, _ := OwnFailure(errors.New("ours")); got != "" {
		t.Error(got)
	}
}
