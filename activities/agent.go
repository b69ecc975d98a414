package activities

import (
	"github.com/longhaul-rl/longhaul/gateway"
	"github.com/longhaul-rl/longhaul/rl"
)

// gateway is the one of this process. It listens once an agent is to be played with, and as long as the process lives, on this
// machine alone: the agents are its children.
func (a *Activities) gateway() (*gateway.Server, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.agents == nil {
		s, err := gateway.Listen("127.0.0.1:0", a.log())
		if err != nil {
			return nil, rl.Errorf(rl.Unavailable, "environment "+gateway.Kind, "%w", err)
		}
		a.agents = s
	}
	return a.agents, nil
}
