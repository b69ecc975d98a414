// Package advantage turns the scores of a group into advantages, and the groups of an update into a batch.
//
// An estimator (one file each: grpo.go, dr_grpo.go, rloo.go) is a pure function of the scores of one group. It
// registers under the name that run.yaml's advantage.use takes; presets.go names whole settings after the systems
// that they reproduce. Assemble (assemble.go) applies one to every group, builds the training rows and keeps the
// ledger of what was left out and why.
//
// Adding an estimator is one file with its formula and paper; the conformance test ranges over the registry.
// Package activities calls this one from ComputeAdvantages.
package advantage
