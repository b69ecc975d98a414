package rl

// Ref names an object in the store and fixes its content.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"` // lower-case hex of the stored bytes
	Size   int64  `json:"size"`   // bytes
}

// File is one file of a checkpoint, kept as content-addressed chunks.
type File struct {
	Name   string   `json:"name"`
	Size   int64    `json:"size"`
	SHA256 string   `json:"sha256"`
	Chunks []string `json:"chunks"` // sha256 of each chunk, in order
}

// Checkpoint is the manifest of a resumable policy: weights, optimiser state, tokenizer, and where it came from.
// It holds no clock readings, so that equal runs end with equal manifests.
type Checkpoint struct {
	Schema    string             `json:"schema"` // CheckpointSchema
	Run       RunID              `json:"run"`
	Update    UpdateNumber       `json:"update"`
	Version   Version            `json:"version"`
	Parent    *Ref               `json:"parent,omitempty"` // manifest it was trained from
	Files     []File             `json:"files"`            // sorted by name
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	Formats   map[string]string  `json:"formats"`   // file name -> format, for example "safetensors/llama"
	Tokenizer string             `json:"tokenizer"` // sha256 of the tokenizer file
}

// CheckpointSchema is the version of the Checkpoint JSON form.
const CheckpointSchema = "longhaul/checkpoint/1"

// File returns the named file of the checkpoint.
func (c Checkpoint) File(name string) (File, bool) {
	for _, f := range c.Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}
