package rl

import "time"

// Change is a change of a run's configuration by a person: runs/<run>/changes/<time>.json.
type Change struct {
	Schema string       `json:"schema"` // ChangeSchema
	Time   time.Time    `json:"time"`   // when it took effect
	Update UpdateNumber `json:"update"` // the first that it is in effect for; one that was under way, from where it stood
	By     string       `json:"by"`
	Why    string       `json:"why"`
	Text   string       `json:"text"`   // "reward.max_usd: 20 -> 30"
	Config Ref          `json:"config"` // the whole configuration from then on
}

// ChangeSchema is the version of the Change JSON form.
const ChangeSchema = "longhaul/change/1"
