package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/store"
)

// The files of a Hugging Face directory that make a model, beside model*.safetensors. Others (a README, the same weights in other
// formats or under other names) are left behind.
var modelFiles = []string{
	"config.json", "generation_config.json", "model.safetensors.index.json",
	"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
	"chat_template.jinja", "chat_template.json",
}

// importBase takes the model in a Hugging Face directory, or under s3://bucket/prefix, into the store, as what update 0
// leaves: its weights, its tokenizer and its chat template are from then on the run's own. Files are streamed.
// Errors: Invalid where it is no model that can be trained from, naming what is missing or damaged.
func (a *Activities) importBase(ctx context.Context, st *store.Store, from string) (r rl.UpdateResult, err error) {
	r = rl.UpdateResult{Schema: rl.UpdateResultSchema, Formats: map[string]string{}, Metrics: map[string]float64{}}
	dir := from
	at := "policy.base " + from
	if strings.HasPrefix(from, "s3://") {
		dir, err = a.fetchBase(ctx, from)
		if kind := rl.KindOf(err); kind == rl.NotFound || kind == rl.Corrupt { // which would be said of a checkpoint of the run
			err = rl.Errorf(rl.Invalid, at, "%w", err)
		}
		if err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
	}
	names, err := baseFiles(dir)
	if err != nil {
		return r, rl.Errorf(rl.Invalid, at, "%w", err)
	}
	for _, name := range names {
		f, err := importFile(ctx, st, dir, name)
		if err != nil {
			return r, fmt.Errorf("%s: %w", at, err)
		}
		r.Files = append(r.Files, f)
		r.Formats[name] = "transformers"
		if name == "tokenizer.json" || name == "tokenizer.model" && r.Tokenizer == "" {
			r.Tokenizer = f.SHA256
		}
	}
	return r, nil
}

// CheckBase says what a directory lacks to be a policy.base; weights are not read. Errors as importBase.
func CheckBase(dir string) error {
	if _, err := baseFiles(dir); err != nil {
		return rl.Errorf(rl.Invalid, "policy.base "+dir, "%w", err)
	}
	return nil
}

// fetchBase copies what lies under an S3 address to a temporary directory.
func (a *Activities) fetchBase(ctx context.Context, from string) (dir string, err error) {
	open := a.OpenBase
	if open == nil {
		open = a.OpenStore
	}
	source, err := open(ctx, from)
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "longhaul-base-"); err != nil {
		return "", err
	}
	for o, err := range source.List(ctx, "") {
		if err == nil && isModelFile(o.Key) {
			err = source.SaveObject(ctx, o.Key, filepath.Join(dir, o.Key))
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

func isModelFile(name string) bool {
	weights, _ := path.Match("model*.safetensors", name)
	return weights || slices.Contains(modelFiles, name) || name == adapter.WeightsFile // which is refused
}

// baseFiles are the model's files in a directory, sorted, and makes sure that they are all there.
func baseFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var weights []string
	for _, e := range entries {
		if !isModelFile(e.Name()) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() { // a pipe would be waited for
			return nil, fmt.Errorf("%s is no file", e.Name())
		}
		names = append(names, e.Name())
		if path.Ext(e.Name()) == ".safetensors" {
			weights = append(weights, e.Name())
		}
	}
	switch has := func(name string) bool { return slices.Contains(names, name) }; {
	case has(adapter.WeightsFile):
		return nil, fmt.Errorf("there is an adapter beside the model: what is trained from is one model, so merge the adapter into it or take it away")
	case !has("config.json"):
		return nil, fmt.Errorf("there is no config.json: it is not a model's Hugging Face directory")
	case len(weights) == 0:
		return nil, fmt.Errorf("there are no model*.safetensors; weights in other formats are saved anew by transformers' save_pretrained")
	case !has("tokenizer.json") && !has("tokenizer.model"):
		return nil, fmt.Errorf("there is no tokenizer.json or tokenizer.model")
	}
	return names, wholeModel(dir, weights)
}

// wholeModel says which weights are damaged or missing.
func wholeModel(dir string, weights []string) error {
	where := map[string]string{} // tensor -> file
	for _, name := range weights {
		if err := indexed(filepath.Join(dir, name), func(t safetensors.Place) { where[t.Name] = name }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "model.safetensors.index.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && slices.Contains(weights, "model.safetensors"):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no model.safetensors, and no model.safetensors.index.json that says which files are in its place")
	case err != nil:
		return err
	}
	if err := json.Unmarshal(b, &index); err != nil {
		return fmt.Errorf("model.safetensors.index.json: %w", err)
	}
	for tensor, file := range index.Map {
		if where[tensor] != file {
			return fmt.Errorf("%s lacks the tensor %s, which model.safetensors.index.json says it has", file, tensor)
		}
	}
	return nil
}

func indexed(file string, each func(safetensors.Place)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, tensors, err := safetensors.Index(f, info.Size())
	for _, t := range tensors {
		each(t)
	}
	return err
}

func importFile(ctx context.Context, st *store.Store, dir, name string) (rl.File, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return rl.File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return rl.File{}, err
	}
	return st.PutFrom(ctx, name, f, info.Size())
}
