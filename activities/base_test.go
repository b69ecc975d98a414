package activities

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/store"
)

// modelDir is a Hugging Face directory in two shards, with files beside it that are none of the model's.
func modelDir(t *testing.T) string {
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"config.json": []byte(`{"model_type":"llama"}`), "tokenizer.json": []byte(`{"version":"1.0"}`), "chat_template.jinja": []byte("{{ messages }}"),
		"model-00001-of-00002.safetensors": safetensors.Encode(nil, []safetensors.Tensor{safetensors.F32("a", []int{2}, []float32{1, 2})}),
		"model-00002-of-00002.safetensors": safetensors.Encode(nil, []safetensors.Tensor{safetensors.F32("b", []int{1}, []float32{3})}),
		"model.safetensors.index.json":     []byte(`{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`),
		"README.md":                        []byte("hello"), "pytorch_model.bin": []byte("x"), "consolidated.safetensors": []byte("x"), "optimizer.safetensors": []byte("x"),
	} {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

var imported = []string{"chat_template.jinja", "config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.json"}

// A model in a directory and one in a bucket are the same update 0: all of the model's files and no others.
func TestImportBase(t *testing.T) {
	b, dir := open(t), modelDir(t)
	b.OpenBase = open(t).OpenStore // another server's
	bucket, err := b.OpenBase(t.Context(), "s3://models/tiny")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(imported), "README.md", "deeper/config.json") {
		content, _ := os.ReadFile(filepath.Join(dir, name))
		if _, err := bucket.Put(t.Context(), name, content); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{dir, "s3://models/tiny"} {
		r, err := b.importBase(t.Context(), b.store, from)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range r.Files {
			names = append(names, f.Name)
			want, _ := os.ReadFile(filepath.Join(dir, f.Name))
			if got, err := b.store.ReadFile(t.Context(), f); err != nil || string(got) != string(want) {
				t.Errorf("%s: %q, %v", f.Name, got, err)
			}
		}
		if !slices.Equal(names, imported) || r.Tokenizer != store.SHA256([]byte(`{"version":"1.0"}`)) {
			t.Errorf("%s: %v, tokenizer %s", from, names, r.Tokenizer)
		}
	}
}

// A bucket or a file that is not there is no damage of the run's own, which it would go back for.
func TestImportBaseThatIsNotThere(t *testing.T) {
	b := open(t)
	b.OpenBase = func(context.Context, string) (*store.Store, error) {
		return nil, rl.Errorf(rl.NotFound, "store s3://models", "NoSuchBucket")
	}
	if _, err := b.importBase(t.Context(), b.store, "s3://models/tiny"); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), "policy.base s3://models/tiny: store s3://models: NoSuchBucket") {
		t.Error(err)
	}
}

func TestImportBaseRefuses(t *testing.T) {
	for want, spoil := range map[string]func(dir string){
		"no config.json":                       func(dir string) { os.Remove(filepath.Join(dir, "config.json")) },
		"no tokenizer.json":                    func(dir string) { os.Remove(filepath.Join(dir, "tokenizer.json")) },
		"no such file":                         func(dir string) { os.RemoveAll(dir) },
		"00002.safetensors lacks the tensor b": func(dir string) { os.Remove(filepath.Join(dir, "model-00002-of-00002.safetensors")) },
		"model-00001-of-00002.safetensors: safetensors": func(dir string) {
			os.Truncate(filepath.Join(dir, "model-00001-of-00002.safetensors"), 70)
		},
		"there is an adapter beside the model": func(dir string) {
			os.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), nil, 0o644)
		},
		"tokenizer.json is no file": func(dir string) {
			os.Remove(filepath.Join(dir, "tokenizer.json"))
			syscall.Mkfifo(filepath.Join(dir, "tokenizer.json"), 0o644)
		},
		"config.json: no such file": func(dir string) {
			os.Remove(filepath.Join(dir, "config.json"))
			os.Symlink("nowhere", filepath.Join(dir, "config.json"))
		},
		"index.json: ": func(dir string) { os.Truncate(filepath.Join(dir, "model.safetensors.index.json"), 10) },
		"no model.safetensors, and no model.safetensors.index.json": func(dir string) { os.Remove(filepath.Join(dir, "model.safetensors.index.json")) },
		"save_pretrained": func(dir string) {
			for _, name := range imported[2:4] {
				os.Remove(filepath.Join(dir, name))
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			b, dir := open(t), modelDir(t)
			spoil(dir)
			_, err := b.importBase(t.Context(), b.store, dir)
			if rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
				t.Error(err)
			}
		})
	}
}
