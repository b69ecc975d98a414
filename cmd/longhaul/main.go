// Command longhaul trains LLM agents by reinforcement learning and keeps going through crashes, restarts and faults.
//
// main is a shell: root.go declares the commands, each has a file of its own, connect.go reaches the parts they work
// with (Temporal, the store), output.go writes what they say, exit.go maps failures to exit codes. What the texts look
// like is in package render.
package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/longhaul-rl/longhaul/child"
)

func main() { os.Exit(run(os.Args[1:], nil)) }

// run executes one command line and returns its exit code. Requests to the embedded store go through s3, unless that is
// nil. The first interrupt ends the context, so that commands can
// stop cleanly and say how to go on; a second one kills the process.
func run(args []string, s3 func(http.RoundTripper) http.RoundTripper) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer child.StopAll() // servers of environments, which wait for the next episode
	context.AfterFunc(ctx, stop)
	a := &app{getenv: os.Getenv, s3: s3, patience: patience, out: newOutput(os.Stdout, os.Stderr, os.Getenv)}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.out.endLive()
	if err == nil {
		err = a.out.lost
	}
	code := exitCode(ctx, err)
	if err != nil && code != exitInterrupted { // an interrupted command has said itself how to go on
		a.out.failure(err)
	}
	return code
}
