package rollout

import (
	"errors"
	"strings"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// OwnFailure says that an error of Run is the episode's own, which leaves others alone: its boundary for the ledger, and whether trying
// again is of no use. It is "" for all else: outages of the policy and of what records, which are waited for, refusals
// that every episode would meet, a record that is damaged.
func OwnFailure(err error) (boundary rl.LeftOut, final bool) {
	e, ok := errors.AsType[*rl.Error](err)
	switch {
	case !ok:
		return "", false
	case errors.Is(err, ErrDiverged), errors.Is(err, ErrUncertain):
		return rl.Voided, true
	case strings.HasPrefix(e.At, "environment "):
		return rl.EnvFailed, e.Kind != rl.Unavailable
	case errors.Is(err, endpoint.ErrConversation):
		return rl.PolicyFailed, true
	case errors.Is(err, endpoint.ErrNoReply):
		return rl.PolicyFailed, false
	}
	return "", false
}
