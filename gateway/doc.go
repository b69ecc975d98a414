// Package gateway lets an agent that exists, in any language and framework, play an episode by itself. It is the agent's OpenAI
// endpoint: what the agent asks goes to the policy that is trained, and each answer is recorded, with its token ids, before the agent
// has it. The result is an ordinary trajectory.
//
// A request goes on from the turn whose conversation it repeats (history.go), which frameworks change on the way (same.go); the policy
// is shown what was recorded, so that its next prompt extends the tokens that it sampled (act.go). An agent is resumed by running it
// again: it is given the recorded answers to the same questions, and is live where it asks another (ask.go). chat.go and
// responses.go read and answer the two APIs; server.go keeps out whoever has no episode's key.
//
// Start with run.go, which plays an episode, and score.go, which scores it; world.go is env.use: agent.
package gateway
