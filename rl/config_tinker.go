package rl

// TinkerConfig is updates in a Tinker service, policy.url.
type TinkerConfig struct {
	Reduces string `json:"reduces,omitempty" doc:"how the service makes a loss of its tokens': sequence_mean, the mean over rows of each row's mean (SkyRL), or sum"`
}
