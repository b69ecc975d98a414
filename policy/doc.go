// Package policy is the client of a policy server: OpenAI's chat completions with the token ids and
// log-probabilities that training needs.
//
// The wire is go-openai's; what longhaul needs beyond it (token ids in and out, a temperature of 0, message
// content that is empty) rides on go-openai's HTTP doer, in extension.go alone. What every turn sends and gets again
// goes past reflection: messages.go writes messages as go-openai would, quick.go reads the embedded server's replies,
// and any other reply is go-openai's. Text is never re-tokenised: what
// the server says it was shown and what it says it sampled is what is trained on, and its lengths must agree.
// A server that gives no token ids can still be evaluated: its replies carry none, and the caller keeps them out
// of training.
//
// Bad tool calls are the model's, not the server's: they come back as rl.ToolCall with Invalid set and become
// observations. Errors are *rl.Error: Refused with the server's own words, Unavailable with its Retry-After,
// Invalid for a reply that contradicts itself. The API key is in none of them.
//
// A policy may have several servers (seat.go): an episode keeps to one, a sick one is ejected, probed and readmitted
// (health.go), and no more requests are sent than a server takes (limit.go). The clocks of turns and episodes stand still
// while a server is paused (clock.go, pulse.go). adapters.go and lend.go are what publishing and shared GPUs need.
//
// Start with act.go; reply.go reads an answer, hermes.go finds tool calls that came as text. Package endpoint
// names failures.
package policy
