package launch

import (
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// nameLimit is Kubernetes' for a label, and SageMaker's for a job.
const nameLimit = 63

// name keeps as much of the run's own name as fits; the key's first 16 digits tell apart what is then alike.
func name(run rl.RunID, update rl.UpdateNumber, key string) string {
	own := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, string(run))
	tail := fmt.Sprintf("-%08d-%.16s", update, key)
	own = "lh-" + strings.Trim(own, "-")
	return strings.TrimRight(own[:min(len(own), nameLimit-len(tail))], "-") + tail
}
