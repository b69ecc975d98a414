package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// rule is what one key's value must satisfy by itself. The zero rule allows everything.
type rule struct {
	min, max float64 // inclusive; of durations in seconds; of ranges the bounds of an index
	above    bool    // min itself is not allowed
	below    bool    // max itself is not allowed
	multiple int     // of this number
	names    func(Names) []string
	form     *form // of a text
	required bool  // has no default
	private  bool  // its value is never repeated in a message
}

// Indices, seeds and counts stay below 2^53, which every JSON implementation keeps exactly.
const exact = 1<<53 - 1

var rules = map[string]rule{
	"name":                     {form: &runName, required: true},
	"env.use":                  {names: func(n Names) []string { return n.Envs }, required: true},
	"env.tasks.train":          {max: 1e9},
	"env.tasks.eval":           {max: 1e9},
	"env.max_turns":            {min: 1, max: 10_000},
	"env.episode_timeout":      {min: 1, max: 30 * 24 * 3600},
	"env.turn_timeout":         {min: 0.1, max: 24 * 3600},
	"env.sqlite.dir":           {form: &oneLine},
	"policy.use":               {names: func(n Names) []string { return n.Policies }},
	"policy.url":               {form: &serverURLs},
	"policy.model":             {form: &oneLine},
	"policy.api_key_env":       {form: &variable, private: true},
	"policy.base":              {form: &oneLine},
	"policy.publish":           {names: fixed("none", "lora", "restart")},
	"policy.adapters":          {form: &directory},
	"policy.restart":           {form: &oneLine},
	"policy.share_gpu":         {names: fixed("no", "pause", "sleep")},
	"policy.concurrency":       {max: 65_536},
	"policy.width":             {min: 32, max: 4096, multiple: 32},
	"policy.layers":            {min: 1, max: 64},
	"policy.hidden":            {min: 32, max: 16_384, multiple: 32},
	"policy.context":           {min: 16, max: 32_768},
	"from":                     {form: &startsFrom},
	"warm_up.gate":             {max: 1},
	"warm_up.extra":            {max: 1_000_000},
	"warm_up.max":              {max: 1_000_000},
	"warm_up.batch":            {min: 1, max: 65_536},
	"warm_up.learning_rate":    {above: true, max: 1},
	"sampling.temperature":     {max: 10},
	"sampling.max_tokens":      {min: 1, max: 1_000_000},
	"sampling.seed":            {max: exact},
	"group.size":               {min: 2, max: 1024},
	"group.per_update":         {min: 1, max: 65_536},
	"group.per_activity":       {min: 1, max: 1024},
	"group.quorum":             {max: 1},
	"group.valid":              {max: 1},
	"group.resample":           {max: 100},
	"group.max_staleness":      {max: 100},
	"curriculum.floor":         {max: 1},
	"curriculum.visits":        {min: 1, max: 100},
	"reward.use":               {names: func(n Names) []string { return n.Rewards }},
	"reward.gate":              {names: func(n Names) []string { return n.Rewards }},
	"reward.add.cost":          {max: 1e6},
	"reward.add.exact":         {max: 1e6},
	"reward.add.format":        {max: 1e6},
	"reward.add.judge":         {max: 1e6},
	"reward.add.overlong":      {max: 1e6},
	"reward.add.turns":         {max: 1e6},
	"reward.overlong_max":      {min: 1, max: 1e9},
	"reward.overlong_buffer":   {min: 1, max: 1e9},
	"reward.url":               {form: &serverURL},
	"reward.model":             {form: &oneLine},
	"reward.api_key_env":       {form: &variable, private: true},
	"reward.rubric":            {form: &words},
	"reward.passes":            {min: 1, max: 16},
	"reward.order":             {names: fixed("shuffled", "fixed")},
	"reward.ties":              {names: fixed("allowed", "forced")},
	"reward.dead_band":         {max: 100},
	"reward.per_turn":          {names: fixed("off", "asked")},
	"reward.result_chars":      {min: 200, max: 1e9},
	"reward.context":           {min: 1024, max: 1e9},
	"reward.reply_tokens":      {min: 64, max: 1e6},
	"reward.judge_temperature": {max: 2},
	"reward.timeout":           {min: 0.1, max: 3600},
	"reward.concurrency":       {min: 1, max: 4096},
	"reward.usd_in":            {max: 1e6},
	"reward.usd_out":           {max: 1e6},
	"reward.max_usd":           {max: 1e9},
	"reward.max_calls":         {min: 1, max: 1e9},
	"advantage.use":            {names: func(n Names) []string { return n.Advantages }},
	"advantage.std":            {names: fixed("population", "sample", "none")},
	"advantage.epsilon":        {max: 1},
	"advantage.singleton":      {names: fixed("drop", "keep")},
	"advantage.zero_variance":  {names: fixed("drop", "keep")},
	"advantage.gamma":          {max: 1},
	"advantage.step_weight":    {max: 1000},
	"loss.use":                 {names: func(n Names) []string { return n.Losses }},
	"loss.beta":                {max: 1000},
	"loss.clip_low":            {max: 1},
	"loss.clip_high":           {above: true, max: 1000},
	"loss.ratio_cap":           {max: 10_000},
	"loss.tau_positive":        {above: true, max: 1000},
	"loss.tau_negative":        {above: true, max: 1000},
	"loss.reduction":           {names: fixed("constant", "global_token_mean", "sequence_mean", "token_mean")},
	"loss.length":              {max: 1e9},
	"loss.mismatch_cap":        {max: 1000},
	"loss.off_policy_mask":     {max: 1000},
	"loss.kl_coef":             {max: 1000},
	"loss.kl":                  {names: fixed("k1", "k2", "k3")},
	"loss.kl_in":               {names: fixed("loss", "reward")},
	"loss.reference":           {form: &version},
	"loss.entropy_coef":        {max: 1000},
	"update.use":               {names: func(n Names) []string { return n.Launchers }},
	"update.learning_rate":     {above: true, max: 1},
	"update.minibatches":       {min: 1, max: 65_536},
	"update.max_grad_norm":     {max: 1e6},
	"update.beta1":             {max: 1, below: true},
	"update.beta2":             {max: 1, below: true},
	"update.weight_decay":      {max: 1},
	"update.ramp":              {max: 999_999},
	"update.final_rate":        {max: 1},
	"update.kl_stop":           {max: 1000},
	"update.timeout":           {min: 1, max: 30 * 24 * 3600},
	"update.usd_hour":          {max: 1e6},
	"update.local.python":      {form: &oneLine},
	"update.tinker.reduces":    {names: fixed("sequence_mean", "sum")},

	"update.lora_rank":              {min: 1, max: 1024},
	"update.lora_alpha":             {max: 65_536},
	"update.precision":              {names: fixed("float32", "bfloat16")},
	"update.gradient_checkpointing": {names: fixed("off", "on")},
	"update.processes":              {min: 1, max: 64},
	"update.row_tokens":             {min: 1, max: 1 << 24},

	"env.agent.command":   {form: &oneLine},
	"env.agent.directory": {form: &oneLine},
	"env.agent.env":       {form: &passedOn, private: true},
	"env.agent.goal":      {names: fixed("argument", "environment", "stdin")},
	"env.agent.tasks":     {form: &oneLine},
	"env.agent.check":     {form: &oneLine},
	"env.agent.output":    {min: 256, max: 16 << 20},

	"updates":               {max: 999_999}, // a version has six digits
	"eval.every":            {max: 999_999},
	"eval.tasks":            {min: 1, max: 1e9},
	"eval.promote":          {form: &promote},
	"guard.collapse":        {max: 1},
	"guard.retries":         {max: 100},
	"checkpoints.keep_last": {min: 1, max: 999_999},
	"checkpoints.keep_best": {max: 999_999},
	"store":                 {form: &storeURI},

	"env.openenv.url":           {form: &serverURLs},
	"env.openenv.sessions":      {min: 1, max: 65_536},
	"env.openenv.header":        {form: &headerName},
	"env.openenv.header_env":    {form: &variable, private: true},
	"env.openenv.system":        {form: &words},
	"env.openenv.tool":          {form: &toolName},
	"env.openenv.schema":        {form: &oneLine},
	"env.openenv.tasks":         {form: &oneLine},
	"env.openenv.show":          {form: &fieldNames},
	"env.openenv.output_bytes":  {min: 200, max: 64 << 20},
	"env.openenv.score":         {names: fixed("sum", "last")},
	"env.openenv.failed":        {names: fixed("void", "observation")},
	"env.openenv.reset_timeout": {min: 0.1, max: 24 * 3600},

	"env.code.sandbox":      {names: fixed("micropython", "bubblewrap", "container")},
	"env.code.runtime":      {names: fixed("podman", "docker")},
	"env.code.image":        {form: &image},
	"env.code.see":          {form: &readable},
	"env.code.tasks":        {form: &oneLine},
	"env.code.timeout":      {min: 1, max: 3600},
	"env.code.memory_mb":    {min: 4, max: 4096},
	"env.code.processes":    {min: 1, max: 4096},
	"env.code.files":        {min: 1, max: 10_000},
	"env.code.disk_mb":      {min: 1, max: 1024},
	"env.code.output_bytes": {min: 200, max: 1 << 20},

	"update.kubernetes.image":           {form: &image},
	"update.kubernetes.namespace":       {form: &clusterName},
	"update.kubernetes.context":         {form: &oneLine},
	"update.kubernetes.queue":           {form: &clusterName},
	"update.kubernetes.gpus":            {max: 1024},
	"update.kubernetes.cpus":            {max: 1024},
	"update.kubernetes.memory":          {form: &memory},
	"update.kubernetes.node_selector":   {form: &nodeLabels},
	"update.kubernetes.tolerations":     {form: &tolerances},
	"update.kubernetes.service_account": {form: &clusterName},
	"update.kubernetes.secret":          {form: &clusterName},
	"update.kubernetes.keep":            {min: 60, max: 365 * 24 * 3600},
	"update.kubernetes.template":        {form: &jobTemplate},
	"update.sagemaker.region":           {form: &awsRegion},
	"update.sagemaker.role":             {form: &roleARN},
	"update.sagemaker.image":            {form: &image},
	"update.sagemaker.instance":         {form: &instanceType},
	"update.sagemaker.volume_gb":        {min: 1, max: 16_384},
	"update.sagemaker.spot":             {names: fixed("yes", "no")},
	"update.sagemaker.subnets":          {form: &vpcIDs},
	"update.sagemaker.security_groups":  {form: &vpcIDs},

	"env.mcp.command":      {form: &oneLine},
	"env.mcp.url":          {form: &serverURL},
	"env.mcp.env":          {form: &variables, private: true},
	"env.mcp.headers":      {form: &headers, private: true},
	"env.mcp.tasks":        {form: &oneLine},
	"env.mcp.files":        {form: &oneLine},
	"env.mcp.system":       {form: &words},
	"env.mcp.tools":        {form: &toolNames},
	"env.mcp.share":        {names: fixed("episode", "worker")},
	"env.mcp.reuse":        {min: 1, max: 1e9},
	"env.mcp.servers":      {min: 1, max: 4096},
	"env.mcp.memory":       {form: &memory},
	"env.mcp.effect":       {names: fixed("pure", "episode_local", "external_idempotent", "external_once")},
	"env.mcp.effects":      {form: &effects},
	"env.mcp.call_timeout": {min: 0.1, max: 24 * 3600},
	"env.mcp.output_bytes": {min: 256, max: 16 << 20},

	"env.process.command":       {form: &oneLine},
	"env.process.processes":     {min: 1, max: 1024},
	"env.process.episodes":      {min: 1, max: 1024},
	"env.process.env":           {form: &variables, private: true},
	"env.process.start_timeout": {min: 0.1, max: 3600},
}

func fixed(names ...string) func(Names) []string { return func(Names) []string { return names } }

// expects says in words what the field takes, for example "a whole number from 2 to 1024".
func (f *field) expects(names Names) string {
	r := f.rule
	switch f.kind {
	case section:
		return "a mapping with " + listed(f.keys(), "and")
	case text:
		if r.names != nil {
			return listed(r.names(names), "or")
		}
		return r.form.expects
	case duration:
		return "a duration such as 30m or 1.5s, " + r.span("s")
	case taskRange:
		return fmt.Sprintf("a range of task indices such as 0-9999, first to last, up to %.0f", r.max)
	case number:
		return "a number " + r.span("")
	}
	if r.multiple > 1 {
		return fmt.Sprintf("a multiple of %d %s", r.multiple, r.span(""))
	}
	return "a whole number " + r.span("")
}

func (r rule) span(unit string) string {
	low, high := "from "+decimal(r.min)+unit, " to "+decimal(r.max)+unit
	if r.above {
		low, high = "above "+decimal(r.min)+unit, ", at most "+decimal(r.max)+unit
	}
	if r.below {
		high = " to below " + decimal(r.max) + unit
	}
	return low + high
}

// found is what a message says of the field's value.
func (f *field) found(words string) string {
	if f.rule.private {
		return "a value that is not repeated here"
	}
	return words
}

// holds reports whether a number is in the rule's range.
func (r rule) holds(v float64) bool {
	switch {
	case math.IsNaN(v), v < r.min, v > r.max, r.above && v == r.min, r.below && v == r.max:
		return false
	}
	return r.multiple == 0 || math.Mod(v, float64(r.multiple)) == 0
}

// listed is "a, b or c".
func listed(names []string, last string) string {
	switch n := len(names); n {
	case 0:
		return "one of no names at all" // nothing is registered
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
	}
}

// allows reports whether a text is one of the rule's names or has its form. A nil list of names allows every text.
func (r rule) allows(s string, names Names) bool {
	if r.names != nil {
		list := r.names(names)
		return list == nil || slices.Contains(list, s)
	}
	return r.form == nil || r.form.holds(s)
}
