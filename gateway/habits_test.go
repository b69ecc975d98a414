package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// What the frameworks sent, byte by byte, in an episode of script (TestFrameworks -update records it): each request goes on from the
// answer to the one before, and the next prompt from the tokens that were sampled.
func TestHabits(t *testing.T) {
	files, err := filepath.Glob("testdata/habits/*.json")
	if err != nil || len(files) != len(habits) {
		t.Fatalf("%d files of %d habits, %v", len(files), len(habits), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var seen []exchange
			if err := json.Unmarshal(b, &seen); err != nil {
				t.Fatal(err)
			}
			// The seed is the one it was recorded with: the ids of answers follow from the requests alone.
			w := play(t, &scripted{script: script}, func(o *rollout.Options) { o.TurnTimeout = time.Minute })
			for _, x := range seen {
				status, answer := w.post(x.Path, string(x.Request))
				if status != 200 {
					t.Fatalf("%d %s", status, answer)
				}
			}
			got := w.ended()
			if len(got.Turns) != len(script) {
				t.Errorf("%d turns", len(got.Turns))
			}
			oneHistory(t, got)
			wholeText(t, got)
		})
	}
}

var spaces = regexp.MustCompile(`\s+`)

// wholeText checks that what was answered is in the record as the policy said it, whatever the agent made of it.
func wholeText(t *testing.T, got *rl.Trajectory) {
	t.Helper()
	for i, turn := range got.Turns {
		var was struct {
			Content string
			Calls   []chatCall `json:"tool_calls"`
		}
		if err := json.Unmarshal([]byte(script[min(i, len(script)-1)]), &was); err != nil {
			t.Fatal(err)
		}
		m := turn.Action.Message
		if m.Content != was.Content || len(m.ToolCalls) != len(was.Calls) {
			t.Errorf("turn %d: %+v, not %+v", i, m, was)
			continue
		}
		for n, c := range was.Calls {
			if m.ToolCalls[n].Name != c.Function.Name || canonical(string(m.ToolCalls[n].Arguments)) != canonical(c.Function.Arguments) {
				t.Errorf("turn %d: call %d is %s", i, n, m.ToolCalls[n].Arguments)
			}
		}
		for _, m := range turn.Observation.Messages {
			if m.Role == rl.Assistant {
				t.Errorf("turn %d sees an answer as new: %s", i, spaces.ReplaceAllString(strings.TrimSpace(m.Content), " "))
			}
		}
	}
}
