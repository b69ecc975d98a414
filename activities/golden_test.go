package activities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The golden batch: an update from the same weights on the same batch, by the embedded trainer and by the one in PyTorch, with
// every loss. Metrics have the same names and agree to 1e-5, the gradient points the same way (cosine 0.9999), and the weights
// agree to 1e-5. LONGHAUL_TEST_PYTHON names a Python with torch and transformers (make test makes one).
func TestTrainersAgree(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with torch and transformers; make test makes one")
	}
	b, dir := open(t, "a"), t.TempDir()
	base, reference := aPolicy(t, 1), aPolicy(t, 2)
	written(t, filepath.Join(dir, "base"), base)
	written(t, filepath.Join(dir, "reference"), reference)
	published(t, b, run, 0, reference)
	manifest := published(t, b, run, 1, base)
	batch := aBatch(3, base.Model, t)
	for i, group := range []int{0, 0, 1, 1, 2, 3, 2, 4} { // three pairs; the row without a loss is in none
		batch.Samples[i].Episode.Task, batch.Samples[i].Episode.Member = rl.TaskID(fmt.Sprint("train-", group)), i
	}
	write(t, filepath.Join(dir, "batch.safetensors"), store.EncodeBatch(batch))
	work := spec(t, b, manifest, batch)
	var jobs []map[string]any
	var configs []rl.Config
	for i, g := range goldens() {
		cfg := tuned(t, func(c *rl.Config) {
			c.Update.Minibatches, c.Update.MaxGradNorm = 1, []float64{.01, 1000}[i%2]
			g.change(c)
		})
		configs, jobs = append(configs, cfg), append(jobs, map[string]any{"config": cfg, "spec": work, "demonstrations": g.sft})
	}
	write(t, filepath.Join(dir, "jobs.json"), rl.CanonicalJSON(jobs))
	inPyTorch(t, python, dir)
	for i, v := range goldens() {
		trainer, ours, err := train(t, b, configs[i], work)
		if v.sft {
			trainer, ours, err = imitate(t, b, configs[i], work, batch)
		}
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		at := filepath.Join(dir, fmt.Sprint(i))
		theirs := metrics(t, at)
		if !slices.Equal(slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(theirs))) {
			t.Errorf("%s: metrics %v, theirs %v", v.name, ours, theirs)
		}
		for name, value := range ours {
			if bound := 1e-5 * max(1, math.Abs(value)); name != "grad_norm" && !(math.Abs(value-theirs[name]) < bound) {
				t.Errorf("%s: %s %v, theirs %v", v.name, name, value, theirs[name])
			}
		}
		if n := ours["grad_norm"]; !(math.Abs(n-theirs["grad_norm"]) < 1e-4*n) {
			t.Errorf("%s: gradient of norm %v, theirs %v", v.name, n, theirs["grad_norm"])
		}
		if far := distance(tensors(t, trainer.Model.Tensors()), read(t, at, tiny.WeightsFile)); !(far < 1e-5) {
			t.Errorf("%s: the weights differ by %v", v.name, far)
		}
		if configs[i].Update.Minibatches > 1 {
			continue
		}
		before, mine, other := tensors(t, base.State()), tensors(t, trainer.State()), read(t, at, tiny.OptimizerFile)
		if cos := cosine(configs[i].Update.Beta1, before, mine, other); !(cos >= .9999) {
			t.Errorf("%s: cosine of the gradients %v", v.name, cos)
		}
	}
}

// The trainer's own tests, which hold its losses to the vectors that tiny/nn is held to.
func TestTrainerInPython(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with torch and transformers; make test makes one")
	}
	cmd := exec.Command(python, "-m", "unittest", "discover", "-s", "tests")
	cmd.Dir = "../trainer"
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("\nOK")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// inPyTorch runs trainer/tests/golden.py on a directory.
func inPyTorch(t *testing.T, python, dir string) {
	t.Helper()
	trainer, err := filepath.Abs("../trainer")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, filepath.Join(trainer, "tests", "golden.py"), dir)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+trainer, "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// metrics are what an update of golden.py came to.
func metrics(t *testing.T, dir string) (by map[string]float64) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(dir, "metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &by); err != nil {
		t.Fatal(err)
	}
	return by
}

// cosine is that of two steps' gradients g, which AdamW's first moment holds: m = beta*before + (1-beta)*g.
func cosine(beta float64, before, mine, other map[string][]float32) float64 {
	var dot, a, b float64
	for name, m := range before {
		if !strings.HasPrefix(name, "exp_avg.") {
			continue
		}
		for i := range m {
			x, y := float64(mine[name][i])-beta*float64(m[i]), float64(other[name][i])-beta*float64(m[i])
			dot, a, b = dot+x*y, a+x*x, b+y*y
		}
	}
	return dot / math.Sqrt(a*b)
}

// distance is the greatest between two elements; infinite when one has other tensors.
func distance(a, b map[string][]float32) (far float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for name, v := range a {
		if len(b[name]) != len(v) {
			return math.Inf(1)
		}
		for i := range v {
			far = max(far, math.Abs(float64(v[i])-float64(b[name][i])))
		}
	}
	return far
}

// tensors are those of float32, by name.
func tensors(t *testing.T, list []safetensors.Tensor) map[string][]float32 {
	t.Helper()
	by := map[string][]float32{}
	for _, one := range list {
		if one.DType != "F32" {
			continue
		}
		v, err := one.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		by[one.Name] = v
	}
	return by
}

func read(t *testing.T, dir, name string) map[string][]float32 {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	_, list, err := safetensors.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return tensors(t, list)
}

// written is a policy's files in a directory.
func written(t *testing.T, dir string, trainer *nn.Trainer) {
	t.Helper()
	files, _, err := tiny.EncodeFiles(trainer)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
