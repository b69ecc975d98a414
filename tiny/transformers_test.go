package tiny

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// transformersLogits prints what transformers makes of a checkpoint's directory: the logits at every position, and the
// token ids of a text.
const transformersLogits = `
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
torch.set_num_threads(1)
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
asked = json.load(sys.stdin)
with torch.no_grad():
    logits = model(torch.tensor([asked["ids"]])).logits[0]
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
json.dump({"logits": logits.tolist(), "ids": tokenizer.encode(asked["text"], add_special_tokens=False)}, sys.stdout)
`

// The files of a checkpoint are a Hugging Face directory: transformers computes the logits that our sampler does, to
// 1e-4, and its tokenizer gives our ids. LONGHAUL_TEST_PYTHON names a Python with transformers and torch (make test
// makes one). A test of package nn holds the same tensors against a plain Llama in Go.
func TestTransformersAgrees(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with transformers and torch; make test makes one")
	}
	model := nn.New(nn.Config{V: Vocab, D: 96, L: 3, F: 256, Ctx: 256}, 5)
	files, _, err := EncodeFiles(nn.NewTrainer(model, 1))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	ids := make([]int32, 120)
	for i := range ids {
		ids[i] = rng.Int32N(Vocab)
	}
	const sentence = "where is order 48? C7 in box D2, fragile; D2 at Oslo 7"
	want := transformers{IDs: appendText(nil, sentence)}
	runner, seq := model.NewRunner(), model.NewSeq()
	for _, id := range ids {
		want.Logits = append(want.Logits, append([]float32(nil), runner.Forward([]*nn.Seq{seq}, [][]int32{{id}})...))
	}
	got := ask(t, python, dir, map[string]any{"ids": ids, "text": sentence})
	if len(got.IDs) != len(want.IDs) {
		t.Fatalf("%q: %v, ours %v", sentence, got.IDs, want.IDs)
	}
	for i, id := range got.IDs {
		if id != want.IDs[i] {
			t.Fatalf("%q: %v, ours %v", sentence, got.IDs, want.IDs)
		}
	}
	for p, row := range want.Logits {
		for v, logit := range row {
			if d := logit - got.Logits[p][v]; d > 1e-4 || d < -1e-4 {
				t.Fatalf("position %d, token %d: %v, ours %v", p, v, got.Logits[p][v], logit)
			}
		}
	}
}

// transformers is what it answered.
type transformers struct {
	Logits [][]float32 `json:"logits"`
	IDs    []int32     `json:"ids"`
}

func ask(t *testing.T, python, dir string, question any) (a transformers) {
	t.Helper()
	in, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd := exec.Command(python, "-c", transformersLogits, dir)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &errs
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	return a
}
