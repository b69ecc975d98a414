package rl

// World is what a run's environment was made of when the run began, where it is made of files or by a server: it is made of the
// same to the run's end.
type World struct {
	Schema string `json:"schema"` // WorldSchema
	Env    string `json:"env"`    // env.use
	SHA256 string `json:"sha256"` // of all that it is made of, in hex
}

// WorldSchema is the version of the World JSON form.
const WorldSchema = "longhaul/world/1"
