// Package reward scores the trajectories of a group.
//
// A reward (one file each) gets a whole group, since relative rewards need one, and returns one rl.Score per
// member, in order. It registers under the name that run.yaml's reward.use takes; the conformance test ranges over
// the registry. Package activities calls this one from JudgeGroup, and writes the scores once.
package reward
