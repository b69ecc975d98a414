// Package envs holds the worlds that agents act in, and the contract between them and the rollout loop.
//
// Env (env.go) is the contract: one episode at a time, tools by JSON schema, and a clear line between what the model
// did wrong (an observation) and what broke (an error). World (world.go) is a family of tasks over an Env; it
// registers under the name that run.yaml's env.use takes, and the conformance test ranges over the registry. The
// order desk (orders*.go) is the demo's world.
//
// Adding an environment is one file. Package rollout drives an Env; nothing else does.
package envs
