// Package process is the environment that is a program of its own: a simulator in any language, spoken to in lines of JSON over its
// standard input and output (docs/process.md is the protocol, protocol.go its types).
//
// A program holds many episodes, one after the other and at once, so that what it has loaded is loaded once. pool.go
// says which program an episode gets, program.go is one running program, env.go an episode of it and world.go what
// run.yaml makes of its hello. Package child starts programs, and leaves nothing of them behind.
//
// What goes wrong in a program (it ends, hangs, or says what is no reply) is infrastructure: the episode is tried again, and is
// never scored for it.
package process
