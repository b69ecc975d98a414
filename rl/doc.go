// Package rl is the vocabulary of longhaul: what a task, a turn, a trajectory, a score, a batch and a
// checkpoint are, how they are named, and how a failure is told apart from a result.
//
// Every other package speaks in these types; this one imports the standard library alone. The data walks
// one way, and each stage writes its output once:
//
//	Task -> Trajectory (its Turns) -> Score -> Batch (its Samples) -> UpdateResult -> Checkpoint -> Version
//
// Start with ids.go for the names of things, then trajectory.go.
package rl
