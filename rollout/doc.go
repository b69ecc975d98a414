// Package rollout is the turn loop: an environment and a policy make a trajectory.
//
// Run is plain Go and needs nothing of longhaul's line: no store, no workflow. What makes it durable is two hooks of
// Options: Record commits every turn before it is acted on, and Recorded replays the turns of an earlier attempt
// through the environment, so that an interrupted episode goes on at the turn in which it was. A resumed episode is
// the same, byte for byte, as one that was never interrupted.
//
// The line between result and failure is drawn here. What the model did wrong is an observation it can learn from;
// running out of turns, context or time is a stop reason, and the episode is scored as it stands; what broke is an
// error, and there is no trajectory.
//
// Start with run.go; turns.go is the loop, calls.go executes what an action asks for, replay.go resumes.
// Package activities calls Run from RunTrajectory.
package rollout
