// Package advantage turns the scores of an update's groups into advantages, and the groups into a batch.
//
// An estimator (one file each: grpo.go, gdpo.go, gigpo.go, ...) is a pure function from groups of members to one advantage
// a member and turn (advantage.go). Most look at one group (groupwise.go), some normalise over the update (batchwise.go). It
// registers under the name that run.yaml's advantage.use takes; presets.go names whole settings after the systems that they
// reproduce. Assemble (assemble.go) finds who counts, has the estimator applied, builds the training rows and keeps the
// ledger of what was left out and why.
//
// Adding an estimator is one file with its formula, paper, assumptions and degenerate groups, and a line in the test of what
// each estimator claims (invariants_test.go), which ranges over the registry. Package activities calls this one from
// ComputeAdvantages.
package advantage
