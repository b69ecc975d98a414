package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// hello is what a program says of itself.
type hello struct {
	head
	Protocol  int              `json:"protocol"`
	Name      string           `json:"name"`
	Version   string           `json:"version"` // of its tasks and rules: a run keeps to the one it began with
	System    string           `json:"system"`
	Tools     []tool           `json:"tools"`
	TextEnds  bool             `json:"text_ends"`
	NoCall    string           `json:"no_call"`
	Tasks     map[rl.Split]int `json:"tasks"`
	Episodes  int              `json:"episodes"` // at most so many at once; 0: any number
	Snapshots bool             `json:"snapshots"`
	Reference bool             `json:"reference"`
}

type tool struct {
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Parameters     json.RawMessage `json:"parameters"`
	Effect         envs.Effect     `json:"effect"`
	TimeoutSeconds float64         `json:"timeout_seconds"`
	OutputBytes    *int            `json:"output_bytes"`
}

// outputBytes is how much of a result the policy sees where the tool does not say.
const outputBytes = 16 << 10

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	splits   = []rl.Split{rl.Train, rl.Eval, rl.WarmUp}
	effects  = []envs.Effect{envs.Pure, envs.EpisodeLocal, envs.ExternalIdempotent, envs.ExternalOnce}
)

func (h *hello) whole() error {
	switch {
	case h.Protocol != Protocol:
		return fmt.Errorf("protocol is %d, and %d is spoken here", h.Protocol, Protocol)
	case h.Name == "":
		return fmt.Errorf("it has no name")
	case len(h.Tools) == 0 && !h.TextEnds:
		return fmt.Errorf("it has no tools, and text_ends is not true: there is nothing that an agent could do")
	case h.Tasks[rl.Train] == 0:
		return fmt.Errorf("tasks.train is how many tasks there are to train on, at least 1")
	case h.Tasks[rl.WarmUp] > 0 && !h.Reference:
		return fmt.Errorf("tasks.warm_up are shown as they are solved, which takes a reference")
	case h.Episodes < 0:
		return fmt.Errorf("episodes is %d", h.Episodes)
	}
	for split, n := range h.Tasks {
		if !slices.Contains(splits, split) || n < 0 {
			return fmt.Errorf("tasks.%s is %d; the splits are train, eval and warm_up", split, n)
		}
	}
	for i, t := range h.Tools {
		if err := t.whole(); err != nil {
			return fmt.Errorf("tools[%d]%w", i, err)
		}
		if slices.ContainsFunc(h.Tools[:i], func(other tool) bool { return other.Name == t.Name }) {
			return fmt.Errorf("tools[%d].name: two tools are called %s", i, t.Name)
		}
	}
	return nil
}

func (t tool) whole() error {
	switch {
	case !toolName.MatchString(t.Name) || t.Name == envs.FinalText:
		return fmt.Errorf(".name: %.80q is no name of a tool: 1 to 64 of a-z A-Z 0-9 _ -, and not %s", t.Name, envs.FinalText)
	case t.Description == "":
		return fmt.Errorf(".description: %s has none", t.Name)
	case !slices.Contains(effects, t.Effect):
		return fmt.Errorf(".effect: %q of %s is not pure, episode_local, external_idempotent or external_once", t.Effect, t.Name)
	case t.TimeoutSeconds < 0 || t.OutputBytes != nil && *t.OutputBytes < 0:
		return fmt.Errorf(": a limit of %s is negative", t.Name)
	}
	if schema := strings.TrimSpace(string(t.Parameters)); !strings.HasPrefix(schema, "{") {
		return fmt.Errorf(".parameters: those of %s are no JSON schema of an object", t.Name)
	}
	return nil
}

// digest is the same as long as the program says the same of itself.
func (h hello) digest() string {
	h.ID = nil
	sum := sha256.Sum256(rl.CanonicalJSON(h))
	return hex.EncodeToString(sum[:])
}

// spec is the agent's side of it.
func (h hello) spec() envs.Spec {
	s := envs.Spec{System: h.System, TextEnds: h.TextEnds, NoCall: h.NoCall}
	for _, t := range h.Tools {
		limit := outputBytes
		if t.OutputBytes != nil {
			limit = *t.OutputBytes
		}
		s.Tools = append(s.Tools, envs.Tool{
			Tool:    rl.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
			Timeout: time.Duration(float64(time.Second) * t.TimeoutSeconds), OutputCap: limit, Effect: t.Effect,
		})
	}
	return s
}
