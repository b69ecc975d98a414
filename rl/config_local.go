package rl

// LocalConfig is update jobs as processes of this machine.
type LocalConfig struct {
	Python string `json:"python,omitempty" doc:"the interpreter that has longhaul_trainer: a path, or a name that PATH finds"`
}
