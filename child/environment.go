package child

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Environment is Plain and what a text of NAME=VARIABLE with commas names of this process's own variables; secrets are the values of these,
// each with its name, for NewHider. Error: Unavailable at key when a variable is not set, since another worker may have it.
func Environment(key, named string) (env []string, secrets map[string]string, err error) {
	values, err := Named(key, named)
	if err != nil {
		return nil, nil, err
	}
	env, secrets = Plain(), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env, secrets[values[name]] = append(env, name+"="+values[name]), name
	}
	return env, secrets, nil
}

// Named are the values, by name, of what a text of NAME=VARIABLE with commas names of this process's own variables. Errors as
// Environment's.
func Named(key, named string) (map[string]string, error) {
	values := map[string]string{}
	for pair := range strings.SplitSeq(named, ",") {
		name, variable, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			continue // nothing is named
		}
		if values[name] = os.Getenv(variable); values[name] == "" {
			return nil, rl.Errorf(rl.Unavailable, key, "the environment variable %s is not set where this worker runs", variable)
		}
	}
	return values, nil
}
