// Package reward scores the trajectories of a group.
//
// A reward (one file each) gets a whole group, since relative rewards need one, and returns one rl.Score per
// member, in order. It registers under the name that run.yaml's reward.use takes; the conformance test ranges over
// the registry. New puts together what a configuration asks for: a main reward, perhaps behind a gate, and others added to
// it (compose.go). Package activities calls it from JudgeGroup, and writes the scores once.
//
// The judge is an LLM that compares the whole group in one call: judge.go says how, prompt.go what it is told, render.go how an
// attempt is written down for it, ask.go how often it is asked, found.go and verdict.go how its reply is read, split.go what happens
// when the group is too long for it, mean.go how its answers become scores. It asks through an Ask, so that whoever runs it can keep a
// record of what was asked and answered: asking is what costs. client.go is an Ask over HTTP.
package reward
