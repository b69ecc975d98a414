package tinker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
)

// packed is an archive of files, each a name and its content.
func packed(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An archive may lie with others, who are not told the key.
func TestAnAdapterIsFetched(t *testing.T) {
	weights := safetensors.Encode(nil, []safetensors.Tensor{
		safetensors.F32("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", []int{1, 2}, []float32{1, 2}),
		safetensors.F32("base_model.model.model.layers.0.mlp.up_proj.lora_A.weight", []int{1, 2}, []float32{3, 4}),
	})
	good := packed(t, "./", "", "./adapter_config.json", `{"r": 8, "target_modules": null}`, "./adapter_model.safetensors", string(weights))
	for name, c := range map[string]struct {
		archive []byte
		words   string
	}{
		"whole":           {good, ""},
		"cut off":         {good[:len(good)-40], "EOF"},
		"no archive":      {[]byte("<html>an error page</html>"), "gzip"},
		"without weights": {packed(t, "adapter_config.json", "{}"), "it has no adapter_model.safetensors"},
		"without config":  {packed(t, "adapter_config.json", "null", "adapter_model.safetensors", string(weights)), "adapter_config.json is null"},
	} {
		var keys []string
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys = append(keys, r.Header.Get("X-API-Key"))
			w.Write(c.archive)
		}))
		service := simtinker.New()
		service.Archives = elsewhere.URL + "/signed?by=them"
		here := httptest.NewServer(service)
		got := map[string][]byte{}
		err := New(Options{URL: here.URL, APIKey: "secret-key-1"}).Adapter(t.Context(), "tinker://m/s10", func(name string, r io.Reader) (err error) {
			got[name], err = io.ReadAll(r)
			return err
		})
		elsewhere.Close()
		here.Close()
		if strings.Join(keys, "") != "" {
			t.Errorf("%s: others were told %q", name, keys)
		}
		if c.words != "" {
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var config struct {
			Rank    int      `json:"r"`
			Targets []string `json:"target_modules"`
		}
		if err := errors.Join(err, json.Unmarshal(got[adapter.ConfigFile], &config)); err != nil || config.Rank != 8 || fmt.Sprint(config.Targets) != "[q_proj up_proj]" {
			t.Errorf("%+v, %v", config, err)
		}
		if !bytes.Equal(got[adapter.WeightsFile], weights) {
			t.Error("the weights are not those of the archive")
		}
	}
	if err := New(Options{URL: "http://tinker", Transport: &refuser{}}).Adapter(t.Context(), "tinker://m/s10", nil); rl.KindOf(err) != rl.Refused {
		t.Error(err)
	}
}

// A tensor may have any name, and no header makes a panic.
func FuzzTensors(f *testing.F) {
	for _, name := range []string{"q.lora_A.weight", "lora_A", "x.lora_A", ".lora_A", "a.b.lora_A.lora_A"} {
		f.Add(safetensors.Encode(nil, []safetensors.Tensor{safetensors.F32(name, []int{1}, []float32{1})}), []byte("{}"))
	}
	f.Fuzz(func(t *testing.T, file, config []byte) {
		head, modules, err := tensors(bytes.NewReader(file))
		if err != nil {
			return
		}
		if !bytes.HasPrefix(file, head) {
			t.Error("the head is not the file's")
		}
		if config, err = targeted(config, modules); err == nil && !json.Valid(config) {
			t.Errorf("the configuration is %q", config)
		}
	})
}
