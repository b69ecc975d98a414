package launch

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// nameLimit is Kubernetes' for a label, and SageMaker's for a job.
const nameLimit = 63

// Name is the job's where it runs: "lh-RUN-UPDATE-HASH" in lower-case letters, digits and hyphens, at most 63 characters,
// beginning with a letter. It keeps as much of the run's own name as fits. What is then alike, and equal runs in two
// stores, the first 16 digits of the hash of the spec's address tell apart.
func (j Job) Name() string {
	own := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, string(j.Run))
	sum := sha256.Sum256([]byte(j.Spec))
	tail := fmt.Sprintf("-%08d-%x", j.Update, sum[:8])
	own = "lh-" + strings.Trim(own, "-")
	return strings.TrimRight(own[:min(len(own), nameLimit-len(tail))], "-") + tail
}
