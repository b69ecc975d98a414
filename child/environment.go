package child

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// leastSecret is the shortest value that is hidden, in bytes: a shorter one is no secret, and would be in every other word.
const leastSecret = 6

// Environment is Plain and what a text of NAME=VARIABLE with commas names of this process's own variables; secrets are the values of these,
// each with its name, for Hider. Error: Unavailable at key when a variable is not set, since another worker may have it.
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

// Hider puts the names of secrets, values by which they are known here, in their places: in what is recorded, logged or an error. Of
// "Bearer KEY" and the like, KEY alone is hidden, too.
func Hider(secrets map[string]string) *strings.Replacer {
	named := map[string]string{}
	for value, name := range secrets {
		for _, v := range []string{value, value[strings.LastIndexByte(value, ' ')+1:]} {
			if len(v) >= leastSecret {
				named[v] = "[" + name + "]"
			}
		}
	}
	values := slices.Collect(maps.Keys(named))
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // one may begin with another
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, named[v])
	}
	return strings.NewReplacer(pairs...)
}

// Hidden is an error whose words a Hider has gone over.
func Hidden(err error, hider *strings.Replacer) error { return hidden{err, hider.Replace(err.Error())} }

type hidden struct {
	error
	words string
}

func (h hidden) Error() string { return h.words }
func (h hidden) Unwrap() error { return h.error }
