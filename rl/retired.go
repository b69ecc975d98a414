package rl

import "time"

// Retired is what stays of a checkpoint that retention removed: all of its manifest, so that lineage, metrics and hashes
// can still be read, but none of its files.
type Retired struct {
	Schema     string     `json:"schema"`   // RetiredSchema
	Manifest   Ref        `json:"manifest"` // as it was
	Checkpoint Checkpoint `json:"checkpoint"`
	Why        string     `json:"why"`
	Time       time.Time  `json:"time"`
}

// RetiredSchema is the version of the Retired JSON form.
const RetiredSchema = "longhaul/retired/1"

// Pin is a lease on a checkpoint: retention keeps it until then.
type Pin struct {
	Schema   string    `json:"schema"` // PinSchema
	Manifest Ref       `json:"manifest"`
	For      string    `json:"for"`   // who needs it, in words
	Until    time.Time `json:"until"` // a crash of the holder ends the lease by itself
}

// PinSchema is the version of the Pin JSON form.
const PinSchema = "longhaul/pin/1"
