package rl

// RewardConfig is what scores a trajectory: a main reward, further ones added to it, and the judge's settings; see package
// reward.
type RewardConfig struct {
	Use            string        `json:"use" doc:"exact: the environment's own score; judge: an LLM compares the whole group; or cost, format, overlong, turns"`
	Gate           string        `json:"gate,omitempty" doc:"a reward that an attempt must fully earn (1) for use to tell it from the others that do"`
	Add            RewardWeights `json:"add" doc:"weights of rewards that are added to use's; 0: not added"`
	OverlongMax    int           `json:"overlong_max,omitempty" doc:"overlong: sampled tokens from which an episode earns -1"`
	OverlongBuffer int           `json:"overlong_buffer,omitempty" doc:"overlong: tokens below overlong_max over which the reward falls from 0 to -1"`

	// The judge.
	URL         string   `json:"url,omitempty" doc:"judge: base URL of an OpenAI-compatible server, with /v1"`
	Model       string   `json:"model,omitempty" doc:"judge: the server's name of the model"`
	APIKeyEnv   string   `json:"api_key_env,omitempty" doc:"judge: environment variable that holds the key"`
	Rubric      string   `json:"rubric,omitempty" doc:"judge: what makes an attempt good, in words; @FILE: read from a file; empty: longhaul's own words and the environment's"`
	Passes      int      `json:"passes,omitempty" doc:"judge: times that it is asked, each in another order; the scores are averaged"`
	Order       string   `json:"order,omitempty" doc:"judge: shuffled, or fixed, the order of the members (for ablations)"`
	Ties        string   `json:"ties,omitempty" doc:"judge: allowed, or forced, which asks for different scores always (for ablations)"`
	DeadBand    float64  `json:"dead_band" doc:"judge: a group counts when its spread is so many times what the passes differ by chance; needs 2 passes; 0: always"`
	PerTurn     string   `json:"per_turn,omitempty" doc:"judge: asked, to have it say what each turn contributed (for advantage cw_grpo), or off"`
	ResultChars int      `json:"result_chars,omitempty" doc:"judge: characters of a tool result that are shown; of a longer one the first three quarters and the last"`
	Context     int      `json:"context,omitempty" doc:"judge: its context in tokens, counted as 3 characters each; a group that does not fit is judged in parts that share two attempts"`
	ReplyTokens int      `json:"reply_tokens,omitempty" doc:"judge: tokens of a reply at most, its thinking included"`
	Temperature float64  `json:"judge_temperature,omitempty" doc:"judge: sampling temperature; some models take 1 alone"`
	Timeout     Duration `json:"timeout,omitempty" doc:"judge: wall clock of one call"`
	Concurrency int      `json:"concurrency,omitempty" doc:"judge: calls at once in one worker"`
	USDIn       float64  `json:"usd_in,omitempty" doc:"judge: price of a million prompt tokens"`
	USDOut      float64  `json:"usd_out,omitempty" doc:"judge: price of a million reply tokens"`
	MaxUSD      float64  `json:"max_usd,omitempty" doc:"judge: the run is paused before a call that could pass this; 0: no limit"`
	MaxCalls    int      `json:"max_calls,omitempty" doc:"judge: the run is paused before it makes more calls than this; 0: no limit"`
}

// RewardWeights are factors of rewards by name.
type RewardWeights struct {
	Cost     float64 `json:"cost" doc:"-1 per 1,000 sampled tokens"`
	Exact    float64 `json:"exact" doc:"the environment's own score"`
	Format   float64 `json:"format" doc:"share of actions that are well formed"`
	Judge    float64 `json:"judge" doc:"an LLM compares the whole group"`
	Overlong float64 `json:"overlong" doc:"DAPO's soft punishment of long episodes, from 0 to -1"`
	Turns    float64 `json:"turns" doc:"the sum of what the environment gave turn by turn"`
}

// Weighted is a reward's name and its weight.
type Weighted struct {
	Name   string
	Weight float64
}

// Terms are the rewards with a weight, by name.
func (w RewardWeights) Terms() (out []Weighted) {
	for _, t := range []Weighted{{"cost", w.Cost}, {"exact", w.Exact}, {"format", w.Format}, {"judge", w.Judge}, {"overlong", w.Overlong}, {"turns", w.Turns}} {
		if t.Weight != 0 {
			out = append(out, t)
		}
	}
	return out
}

// Judges reports whether a judge takes part.
func (r RewardConfig) Judges() bool {
	return r.Use == "judge" || r.Gate == "judge" || r.Add.Judge != 0
}
