package launch

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

// Checker is a launcher that can try, before a job depends on it, what its jobs need. It starts nothing.
type Checker interface {
	Check(ctx context.Context) []Finding
}

// Finding is one thing that was tried.
type Finding struct {
	Name  string
	Found string // where it works
	Err   error  // where it does not: an *rl.Error
	Mend  string // what to do about that
}

// elsewhere refuses a store that only this machine reaches, for jobs that run on others.
func elsewhere(h Host, at string) error {
	if len(h.Secret) == 0 {
		return nil
	}
	return rl.Errorf(rl.Invalid, at, "the embedded store is on this machine alone, and its jobs are not: name an S3 in run.yaml's store or LONGHAUL_STORE")
}
