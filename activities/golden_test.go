package activities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The golden batch: one optimiser step from the same weights on the same batch, by the embedded trainer and by the one in
// PyTorch, with every loss. The loss agrees to 1e-5, the gradient points the same way (cosine 0.9999), and the
// weights agree to 1e-5. LONGHAUL_TEST_PYTHON names a Python with torch and transformers (.ci/run installs one).
func TestTrainersAgree(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with torch and transformers; .ci/run installs one")
	}
	b, dir := open(t, "a"), t.TempDir()
	base, reference := aPolicy(t, 1), aPolicy(t, 2)
	written(t, filepath.Join(dir, "base"), base)
	written(t, filepath.Join(dir, "reference"), reference)
	published(t, b, run, 0, reference)
	manifest := published(t, b, run, 1, base)
	steps := append(policySteps(t, b, manifest, aBatch(3, base.Model, t), dir), pairStep(t, b, manifest, aBatch(4, base.Model, t), dir))
	steps = append(steps, demonstrationStep(t, b, manifest, aBatch(5, nil, t), dir))
	var jobs []map[string]any
	for _, s := range steps {
		jobs = append(jobs, s.job)
	}
	body, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "jobs.json"), body)
	theirs := inPyTorch(t, python, dir)
	for i, s := range steps {
		trainer, ours, err := s.ours()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for _, name := range []string{"loss", "kl", "reference_kl", "entropy", "clip_low_fraction", "clip_high_fraction", "off_policy_masked_fraction", "ratio_max"} {
			if _, ok := ours[name]; ok && !(math.Abs(ours[name]-theirs[i][name]) < 1e-5) {
				t.Errorf("%s: %s %v, theirs %v", s.name, name, ours[name], theirs[i][name])
			}
		}
		if n := ours["grad_norm"]; !(math.Abs(n-theirs[i]["grad_norm"]) < 1e-4*n) {
			t.Errorf("%s: gradient of norm %v, theirs %v", s.name, n, theirs[i]["grad_norm"])
		}
		at := filepath.Join(dir, fmt.Sprint(i))
		if far := distance(tensors(t, trainer.Model.Tensors()), read(t, at, tiny.WeightsFile)); !(far < 1e-5) {
			t.Errorf("%s: the weights differ by %v", s.name, far)
		}
		before, mine, other := tensors(t, base.State()), tensors(t, trainer.State()), read(t, at, tiny.OptimizerFile)
		if cos := cosine(s.cfg.Update.Beta1, before, mine, other); !(cos >= .9999) {
			t.Errorf("%s: cosine of the gradients %v", s.name, cos)
		}
	}
}

// The trainer's own tests, which hold its losses to the vectors that tiny/nn is held to.
func TestTrainerInPython(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with torch and transformers; .ci/run installs one")
	}
	cmd := exec.Command(python, "-m", "unittest", "discover", "-s", "tests")
	cmd.Dir = "../trainer"
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("\nOK")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// inPyTorch runs trainer/tests/golden.py on a directory and returns the metrics of its jobs.
func inPyTorch(t *testing.T, python, dir string) (metrics []map[string]float64) {
	t.Helper()
	trainer, err := filepath.Abs("../trainer")
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd := exec.Command(python, filepath.Join(trainer, "tests", "golden.py"), dir)
	cmd.Stderr = &errs
	cmd.Env = append(os.Environ(), "PYTHONPATH="+trainer, "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1")
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &metrics)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	return metrics
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
