// Package launch starts update jobs where the GPUs are, and finds the ones that were started before.
//
// A job is one update: it reads its spec from the store, trains from the checkpoint that the spec names, and leaves its
// result in the store. So what a launcher keeps decides nothing: it starts a process that is not there yet, says how one
// that is fares, and is asked again by whoever takes over. docs/decisions/jobs.md is the protocol, trainer/ the job.
package launch

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Job is an update job as a launcher sees it. Nothing in it is secret, and equal work has an equal Job.
type Job struct {
	Run    rl.RunID
	Update rl.UpdateNumber
	Key    string            // sha256 of the spec, lower-case hex: what the job's place in the store is named by
	Spec   string            // s3://bucket/prefix/jobs/KEY/spec.json
	Env    map[string]string // what the job's process is told beside its owner: the spec, the store's region and endpoint
}

// State is where a job stands.
type State string

const (
	Absent  State = "absent"  // never started here, or forgotten
	Queued  State = "queued"  // accepted, waits for a machine
	Running State = "running" // has a machine
	Done    State = "done"    // ended with exit code 0: its result is in the store
	Failed  State = "failed"  // ended with ExitPermanent, or with what only a person can mend: it would fail again
	Lost    State = "lost"    // ended otherwise: pre-empted, killed, or with an error that another attempt may survive
)

// Exit codes of a job's process; any other is as good as ExitRetry.
const (
	ExitDone      = 0
	ExitPermanent = 42
	ExitRetry     = 75
	ExitPreempted = 143 // SIGTERM: it has left what it could
)

// overtime is how much longer than update.timeout a place lets an attempt run by itself: for the day when no worker is left to end it.
const overtime = 10 * time.Minute

// Status is what a launcher knows of a job.
type Status struct {
	State    State
	Attempt  int           // the last that Ensure started, from 1; 0: Absent
	Exit     int           // of the last attempt, once ended; -1: a signal, or unknown
	Why      string        // of Failed and Lost, and what a Queued one waits for, in the launcher's own words; may be empty
	Identity string        // what ran it, to be looked up there: a process id and host, a pod, a job's ARN
	Queued   time.Duration // that the last attempt waited for a machine
	Ran      time.Duration // that the last attempt had one, so far
	Billed   time.Duration // of Ran, that is paid for; 0: all of it, or not known yet
}

// Ended reports whether the last attempt is over.
func (s Status) Ended() bool { return s.State == Done || s.State == Failed || s.State == Lost }

// Launcher starts jobs in one place. All methods are safe for concurrent use, in any number of processes. Errors are
// *rl.Error: Unavailable when the place does not answer, Refused when it will not (credentials, quota, a bad image),
// Invalid when the configuration cannot work.
type Launcher interface {
	// Ensure sees to it that the job's attempt of this number, from 1, is started: it does nothing when that or a later one
	// was, or while one before it is not over. So of any number of callers that saw the same attempt end, one starts the
	// next, and whether another is worth it is theirs to say. The job's name follows from what it is and never from the
	// attempt. Conflict: there is one of that name with another spec.
	Ensure(ctx context.Context, job Job, attempt int) error
	// Poll says how the job fares.
	Poll(ctx context.Context, job Job) (Status, error)
	// Cancel stops the job and returns once it no longer runs. One that has ended, or is Absent, is left as it is.
	Cancel(ctx context.Context, job Job) error
	// Logs is what the last attempt wrote, as far as it is still known; the caller closes it. NotFound: nothing is known.
	Logs(ctx context.Context, job Job) (io.ReadCloser, error)
}

// Host is what a launcher needs of the process that it works in.
type Host struct {
	Dir    string            // of this machine, for what a launcher must keep there; made when it is missing
	Secret map[string]string // what a job on this machine needs beside Job.Env to reach the store
}

var launchers = map[string]func(rl.UpdateConfig, Host) (Launcher, error){}

// Register adds a launcher under a name, that of update.use, that is not taken. It is called while packages are
// initialised.
func Register(name string, open func(rl.UpdateConfig, Host) (Launcher, error)) {
	if _, taken := launchers[name]; taken {
		panic("launch: two launchers are called " + name)
	}
	launchers[name] = open
}

// Names lists the registered launchers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(launchers)) }

// Open makes the launcher that update.use names. Errors: Invalid when there is none of that name, else its own.
func Open(u rl.UpdateConfig, h Host) (Launcher, error) {
	open, ok := launchers[u.Use]
	if !ok {
		return nil, rl.Errorf(rl.Invalid, "update.use", "%q is not one of %s", u.Use, strings.Join(Names(), ", "))
	}
	return open(u, h)
}
