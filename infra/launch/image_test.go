package launch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The image's recipe copies what is there, and starts what SageMaker is told to start.
func TestImage(t *testing.T) {
	recipe, err := os.ReadFile("../deploy/trainer.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	copies, starts := 0, []string(nil)
	for line := range strings.Lines(string(recipe)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "COPY":
			copies++
			if _, err := os.Stat(filepath.Join("../../trainer", strings.Fields(rest)[0])); err != nil {
				t.Error(err)
			}
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &starts); err != nil {
				t.Error(err)
			}
		}
	}
	if copies != 2 || !slices.Equal(starts, entrypoint) {
		t.Errorf("it copies %d things and starts %q, want 2 and %q", copies, starts, entrypoint)
	}
}
