package config

import (
	"fmt"
	"math"
	"strconv"

	"github.com/longhaul-rl/longhaul/rl"
)

// agreements are the rules that several keys make together; each says what is wrong unless ok.
var agreements = []func(rl.Config) (w wrong, ok bool){
	membersAnActivity, groupsAnUpdate, minibatches, evaluationTasks, timeouts, nothingToLearn, tinyContext, tinyWidth, tinyWeights,
	policyServer, tinyAlone, openaiAlone, published, warmUp, trainable, startingPoint, promoteFloor,
	sqliteAlone,
	torchAlone, adapterServed, adapterScale, adapterPublished,
	judgeServer, judgeSettings, judgeDefaults, judgeBands, judgeRoom, judgePrices, gateAlone, gateRange, gateOpens, addedTwice, overlong, contributions, rewardsOnce,
	jobAlone, jobTimeout, localAlone, localPython, kubernetesAlone, kubernetesImage, kubernetesGPUs, sagemakerAlone, sagemakerNeeds, sagemakerVPC,
	mcpAlone, mcpServer, mcpTasks, mcpKeys, mcpEffect, mcpDefaults, mcpTimeout,
	agentAlone, agentNeeds,
	tinkerTogether, tinkerRank, tinkerAlone, tinkerLoss, tinkerExtras, tinkerNorm, tinkerTemperature,
	openenvAlone, openenvNeeds, openenvHeader, codeAlone, codeSandbox, codeTimeout,
	processAlone, processNeeds,
	enoughPlaces,
	ratioCap, ratioCapAlone, length, mismatchCap, klInLoss, referenceUnused, referenceToCome, preference, preferenceAlone,
}

func disagree(found, expected, hint string, paths ...string) wrong {
	return wrong{paths: paths, found: found, expected: expected, hint: hint}
}

func membersAnActivity(c rl.Config) (wrong, bool) {
	return disagree(strconv.Itoa(c.Group.PerActivity), fmt.Sprintf("at most group.size, %d", c.Group.Size), "",
		"group.per_activity", "group.size"), c.Group.PerActivity <= c.Group.Size
}

func groupsAnUpdate(c rl.Config) (wrong, bool) {
	return disagree(strconv.Itoa(c.Group.PerUpdate), fmt.Sprintf("at most the %d tasks of env.tasks.train: an update has one group of each", c.Env.Tasks.Train.Len()), "",
		"group.per_update", "env.tasks.train"), c.Group.PerUpdate <= c.Env.Tasks.Train.Len()
}

func minibatches(c rl.Config) (wrong, bool) {
	episodes := c.Group.Size * c.Group.PerUpdate
	return disagree(strconv.Itoa(c.Update.Minibatches), fmt.Sprintf("at most group.size x group.per_update, %d", episodes), "",
		"update.minibatches", "group.size", "group.per_update"), c.Update.Minibatches <= episodes
}

func evaluationTasks(c rl.Config) (wrong, bool) {
	return disagree(strconv.Itoa(c.Eval.Tasks), fmt.Sprintf("at most the %d tasks of env.tasks.eval", c.Env.Tasks.Eval.Len()), "",
		"eval.tasks", "env.tasks.eval"), c.Eval.Tasks <= c.Env.Tasks.Eval.Len()
}

func timeouts(c rl.Config) (wrong, bool) {
	return disagree(c.Env.TurnTimeout.String(), "less than env.episode_timeout, "+c.Env.EpisodeTimeout.String(), "a call that hangs is to be noticed before the episode's time is over",
		"env.turn_timeout", "env.episode_timeout"), c.Env.TurnTimeout < c.Env.EpisodeTimeout
}

func nothingToLearn(c rl.Config) (wrong, bool) {
	return disagree("0", "a temperature above 0 in a run that trains",
			"at 0 all members of a group act alike and there is nothing to compare", "sampling.temperature", "updates"),
		c.Sampling.Temperature > 0 || c.Updates == 0
}

func tinyContext(c rl.Config) (wrong, bool) {
	return disagree(strconv.Itoa(c.Sampling.MaxTokens), fmt.Sprintf("less than policy.context, %d", c.Policy.Context), "",
		"sampling.max_tokens", "policy.context"), c.Policy.Context == 0 || c.Sampling.MaxTokens < c.Policy.Context
}

func tinyWidth(c rl.Config) (wrong, bool) {
	p := c.Policy
	for _, d := range []struct {
		key string
		n   int
	}{{"width", p.Width}, {"layers", p.Layers}, {"hidden", p.Hidden}, {"context", p.Context}} {
		if p.Use == "tiny" && d.n == 0 {
			return disagree("0", "a size of the embedded policy", "", "policy."+d.key, "policy.use"), false
		}
		if p.Use != "tiny" && d.n != 0 {
			return disagree(strconv.Itoa(d.n), "the key only with use: tiny", "a server's model has its own size", "policy."+d.key, "policy.use"), false
		}
	}
	return wrong{}, true
}

// The size of the embedded vocabulary, and how many weights the trainer takes at most. tiny and tiny/nn have the
// same; a test of the command holds them together.
const (
	tinyTokens  = 645
	mostWeights = 1 << 28
)

// tinyWeights counts as tiny/nn does: embedding, final norm, and for each layer two norms, four projections of attention
// and three of the feed-forward part.
func tinyWeights(c rl.Config) (wrong, bool) {
	p := c.Policy
	n := tinyTokens*p.Width + p.Width + p.Layers*(2*p.Width+4*p.Width*p.Width+3*p.Width*p.Hidden)
	return disagree(fmt.Sprintf("a policy of %d weights", n), fmt.Sprintf("width, layers and hidden that make at most %d", mostWeights),
		"the embedded trainer is for small policies", "policy.width", "policy.layers", "policy.hidden", "policy.use"), p.Use != "tiny" || n <= mostWeights
}

func warmUp(c rl.Config) (wrong, bool) {
	return disagree(strconv.Itoa(c.WarmUp.Max), "0, unless policy.use is tiny", "only the embedded policy has a warm-up",
		"warm_up.max", "policy.use"), c.WarmUp.Max == 0 || c.Policy.Use == "tiny"
}

func trainable(c rl.Config) (wrong, bool) {
	return disagree(quoted(c.Update.Use), "an update job that can train policy.use: "+c.Policy.Use,
			"the embedded trainer trains tiny; with updates: 0 a run only evaluates", "update.use", "policy.use"),
		c.Update.Use != "embedded" || c.Policy.Use == "tiny" || c.Updates == 0
}

func startingPoint(c rl.Config) (wrong, bool) {
	return disagree("no policy.base", "the model to train, as the directory or the s3://bucket/prefix of its Hugging Face files", "or from, to start from another run's checkpoint",
		"policy.base", "policy.use"), c.Policy.Use == "tiny" || c.Update.Use == "embedded" || c.Updates == 0 || c.Policy.Base != "" || c.From != ""
}

func promoteFloor(c rl.Config) (wrong, bool) {
	p, err := rl.ParsePromote(c.Eval.Promote)
	return disagree(quoted(c.Eval.Promote), "an offset of less than 1", "a success is a share, from 0 to 1", "eval.promote"),
		err != nil || math.Abs(p.Offset) < 1
}
