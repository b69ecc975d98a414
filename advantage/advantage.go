package advantage

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Member is what an estimator knows of a rollout that counts in its group: its score, which is rl.Countable, and its
// turns as they were played.
type Member struct {
	Score      rl.Score
	Components []Component // the rewards that the score is the weighted sum of; nil where it is one reward
	Turns      []rl.Turn
}

// Estimate is the advantages of one group.
type Estimate struct {
	// Turns holds the advantage of member i at its turn t in Turns[i][t]: that of each token sampled in the turn.
	// An estimator that knows one advantage a member repeats it.
	Turns [][]float64
	// Why is empty, or says that the group holds no relative information: rl.Singleton for one member,
	// rl.ZeroVariance where nothing distinguishes the members by more than Tolerance. The advantages are then exactly
	// 0, but for a lone member under singleton: keep, whose advantage is its score.
	Why rl.LeftOut
}

// Estimator maps the groups of an update to one estimate each, in the same order. It is pure. Most look at each group
// by itself; reinforce_pp and gdpo normalise over the whole update.
type Estimator func(groups [][]Member) []Estimate

// estimators by the name that advantage.use takes; presets.go has names for whole settings.
var estimators = map[string]func(rl.AdvantageConfig) (Estimator, error){}

func register(name string, make func(rl.AdvantageConfig) (Estimator, error)) {
	if _, taken := estimators[name]; taken {
		panic("advantage: two estimators are called " + name)
	}
	estimators[name] = make
}

// New makes the estimator that c asks for. An unknown name or rule, or a number that is not finite or out of range, is
// an *rl.Error of kind Invalid that names the right values.
func New(c rl.AdvantageConfig) (Estimator, error) {
	c = settled(c)
	make, ok := estimators[c.Use]
	if !ok {
		return nil, rl.Errorf(rl.Invalid, "advantage.use", "%q is not one of %s", c.Use, strings.Join(Names(), ", "))
	}
	if err := check(c); err != nil {
		return nil, err
	}
	return make(c)
}

// Names lists the registered estimators and the presets, sorted.
func Names() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(estimators)), maps.Keys(presets))
	slices.Sort(names)
	return names
}

// check holds the settings that several estimators share against their rules. The zero value of a rule is its default.
func check(c rl.AdvantageConfig) error {
	for _, rule := range []struct{ key, value string }{{"singleton", c.Singleton}, {"zero_variance", c.ZeroVariance}} {
		if rule.value != "" && rule.value != drop && rule.value != keep {
			return rl.Errorf(rl.Invalid, "advantage."+rule.key, "%q is not one of %s, %s", rule.value, drop, keep)
		}
	}
	for _, n := range []struct {
		key   string
		value float64
		most  float64
		words string
	}{
		{"epsilon", c.Epsilon, math.MaxFloat64, "a finite number of 0 or more"},
		{"gamma", c.Gamma, 1, "a number from 0 to 1"},
		{"step_weight", c.StepWeight, math.MaxFloat64, "a finite number of 0 or more"},
	} {
		if !(n.value >= 0 && n.value <= n.most) {
			return rl.Errorf(rl.Invalid, "advantage."+n.key, "%g is not %s", n.value, n.words)
		}
	}
	return nil
}
