package child

import (
	"slices"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func TestEnvironmentIsNamed(t *testing.T) {
	t.Setenv("MY_KEY", "hunter2-and-more")
	env, secrets, err := Environment("env.x.env", "KEY=MY_KEY, ")
	if err != nil || !slices.Contains(env, "KEY=hunter2-and-more") || len(secrets) != 1 {
		t.Errorf("%v %v %v", env, secrets, err)
	}
	t.Setenv("MY_KEY", "")
	if _, _, err := Environment("env.x.env", "KEY=MY_KEY"); rl.KindOf(err) != rl.Unavailable || err.Error() != "env.x.env: the environment variable MY_KEY is not set where this worker runs" {
		t.Error(err)
	}
}
