package config

import (
	"os"
	"strings"
	"testing"
)

// Every run.yaml in docs/gpu.md is one.
func TestDocumentedRunsAreWhole(t *testing.T) {
	text, err := os.ReadFile("../docs/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		src, _, _ := strings.Cut(part, "```")
		if !strings.HasPrefix(src, "name: ") {
			continue
		}
		runs++
		if found := problems(t, src); len(found) > 0 {
			t.Errorf("%s\n%s", src, strings.Join(found, "\n"))
		}
	}
	if runs == 0 {
		t.Error("there are none")
	}
}
