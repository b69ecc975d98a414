package tinker

import (
	"encoding/json"

	"github.com/longhaul-rl/longhaul/rl"
)

// CheckpointFile is the file of a checkpoint that says where its weights are. They stay with the service.
const CheckpointFile = "tinker.json"

// CheckpointFormat is its format in the manifest.
const CheckpointFormat = "json/tinker"

const checkpointSchema = "longhaul/tinker/1"

// Checkpoint is where the service keeps a policy.
type Checkpoint struct {
	Schema string `json:"schema"`
	Base
	Saved
}

// Encode is the file's content.
func (c Checkpoint) Encode() []byte {
	c.Schema = checkpointSchema
	return rl.CanonicalJSON(c)
}

// DecodeCheckpoint reads the file. Errors: Invalid.
func DecodeCheckpoint(b []byte) (c Checkpoint, err error) {
	if err = json.Unmarshal(b, &c); err != nil {
		return c, rl.Errorf(rl.Invalid, CheckpointFile, "%w", err)
	}
	switch {
	case c.Schema != checkpointSchema:
		err = rl.Errorf(rl.Invalid, CheckpointFile, "its schema is %q, not %q", c.Schema, checkpointSchema)
	case c.Model == "" || c.Rank < 1 || c.Weights == "" || c.Sampler == "":
		err = rl.Errorf(rl.Invalid, CheckpointFile, "it does not name a base model, a rank, weights and a sampler's weights")
	}
	return c, err
}
