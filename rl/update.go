package rl

// UpdateSpec is everything an update job needs. Its canonical JSON is its identity: the job's key is the sha256
// of it, so the same work asked for twice is the same job.
type UpdateSpec struct {
	Schema        string       `json:"schema"` // UpdateSpecSchema
	Run           RunID        `json:"run"`
	Update        UpdateNumber `json:"update"`
	Config        Ref          `json:"config"`
	Base          *Ref         `json:"base_checkpoint,omitempty"` // manifest to train from; nil for update 0
	Batch         *Ref         `json:"batch,omitempty"`           // nil for update 0, which warms up
	Sequences     int          `json:"n_seq"`
	Tokens        int          `json:"n_tokens"`
	TrainedTokens int          `json:"n_trained_tokens"`
	Versions      []Version    `json:"policy_versions"`
	LearningRate  float64      `json:"learning_rate"`
	Seed          uint64       `json:"seed"`
}

// UpdateSpecSchema is the version of the UpdateSpec JSON form.
const UpdateSpecSchema = "longhaul/update/1"

// UpdateResult is what an update job leaves behind: files already stored, not yet a checkpoint.
type UpdateResult struct {
	Schema string `json:"schema"` // UpdateResultSchema
	Spec   string `json:"spec"`   // sha256 of the spec, the job's key
	Files  []File `json:"files"`
	// Metrics of the update, snake_case, KL and entropy in nats a token: loss, kl, mismatch_kl, reference_kl, entropy,
	// clip_fraction and its sides, ratio_max, grad_norm; see docs/algorithms.md.
	Metrics        map[string]float64 `json:"metrics"`
	TokensConsumed int                `json:"tokens_consumed"` // must equal the spec's TrainedTokens
	Formats        map[string]string  `json:"formats"`
	Tokenizer      string             `json:"tokenizer"`
	// Of a job of its own, and no part of the checkpoint: who did it, and where its time went (read, train, write).
	Owner   string             `json:"owner,omitempty"`
	Seconds map[string]float64 `json:"seconds,omitempty"`
}

// UpdateResultSchema is the version of the UpdateResult JSON form.
const UpdateResultSchema = "longhaul/result/1"
