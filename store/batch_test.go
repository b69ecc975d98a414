package store_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/store"
)

var nan = float32(math.NaN())

// rows is the batch of CASES.md's first trajectory, and a second row.
func rows() rl.Batch {
	return rl.Batch{
		Samples: []rl.Sample{
			{Episode: rl.EpisodeID{Run: "a", Update: 1, Task: "train-1"}, Tokens: []int32{10, 11, 20, 30}, LossMask: []bool{false, false, true, true},
				LogProbs: []float32{nan, nan, -.1, -.1}, Advantages: []float32{0, 0, 1.5, 1.5}},
			{Episode: rl.EpisodeID{Run: "a", Update: 1, Task: "train-1", Member: 1}, Tokens: []int32{7}, LossMask: []bool{true}, LogProbs: []float32{-2}, Advantages: []float32{-1.5}},
		},
		Versions: []rl.Version{"a@000000"},
	}
}

func TestBatchFile(t *testing.T) {
	meta, tensors, err := safetensors.Decode(store.EncodeBatch(rows()))
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"run":"a","update":1,"task":"train-1","member":0},{"run":"a","update":1,"task":"train-1","member":1}]`; meta["episodes"] != want || meta["versions"] != `["a@000000"]` || meta["schema"] != "longhaul/batch/1" {
		t.Errorf("metadata %q", meta)
	}
	for i, want := range []string{"tok I32 [5]", "mask BOOL [5]", "adv F32 [5]", "logp F32 [5]", "cu_seqlens I64 [3]"} {
		if got := fmt.Sprint(tensors[i].Name, " ", tensors[i].DType, " ", tensors[i].Shape); got != want {
			t.Errorf("tensor %d is %s, want %s", i, got, want)
		}
	}
	if starts, _ := tensors[4].Int64s(); fmt.Sprint(starts) != "[0 4 5]" {
		t.Errorf("cu_seqlens %v", starts)
	}
	if got := must[rl.Batch](t)(store.DecodeBatch(store.EncodeBatch(rows()))); fmt.Sprint(got) != fmt.Sprint(rows()) { // NaN is not equal to itself
		t.Errorf("got %v", got)
	}
	if got := must[rl.Batch](t)(store.DecodeBatch(store.EncodeBatch(rl.Batch{}))); len(got.Samples) != 0 || len(got.Versions) != 0 {
		t.Errorf("an empty batch reads as %v", got)
	}
}

func TestBatchStrict(t *testing.T) {
	for name, spoil := range map[string]func(b *rl.Batch){
		"an empty row":                    func(b *rl.Batch) { b.Samples = append(b.Samples, rl.Sample{}) },
		"a negative token":                func(b *rl.Batch) { b.Samples[0].Tokens[1] = -1 },
		"a log-probability that is NaN":   func(b *rl.Batch) { b.Samples[0].LogProbs[2] = nan },
		"an infinite log-probability":     func(b *rl.Batch) { b.Samples[1].LogProbs[0] = float32(math.Inf(-1)) },
		"an advantage that is NaN":        func(b *rl.Batch) { b.Samples[1].Advantages[0] = nan },
		"an advantage where there's none": func(b *rl.Batch) { b.Samples[0].Advantages[0] = 1 },
	} {
		b := rows()
		spoil(&b)
		if _, err := store.DecodeBatch(store.EncodeBatch(b)); rl.KindOf(err) != rl.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
	meta, tensors, _ := safetensors.Decode(store.EncodeBatch(rows()))
	for name, spoil := range map[string]func(m map[string]string, ts []safetensors.Tensor) []safetensors.Tensor{
		"a tensor missing": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor { return ts[:4] },
		"a tensor more": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			return append(ts, safetensors.I32("x", []int{1}, []int32{1}))
		},
		"another name": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[0].Name = "tokens"
			return ts
		},
		"another type": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[4] = safetensors.I32("cu_seqlens", []int{3}, []int32{0, 4, 5})
			return ts
		},
		"two dimensions": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[0].Shape = []int{5, 1}
			return ts
		},
		"a short column": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[2] = safetensors.F32("adv", []int{4}, make([]float32, 4))
			return ts
		},
		"rows that overlap": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[4] = safetensors.I64("cu_seqlens", []int{3}, []int64{0, 6, 5})
			return ts
		},
		"rows that do not begin at 0": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[4] = safetensors.I64("cu_seqlens", []int{3}, []int64{1, 4, 5})
			return ts
		},
		"no row starts": func(_ map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			ts[4] = safetensors.I64("cu_seqlens", []int{0}, nil)
			return ts
		},
		"an episode missing": func(m map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			m["episodes"] = "[]"
			return ts
		},
		"no versions": func(m map[string]string, ts []safetensors.Tensor) []safetensors.Tensor {
			delete(m, "versions")
			return ts
		},
		"another schema": func(m map[string]string, ts []safetensors.Tensor) []safetensors.Tensor { m["schema"] = "x"; return ts },
	} {
		m := map[string]string{}
		for k, v := range meta {
			m[k] = v
		}
		ts := spoil(m, append([]safetensors.Tensor{}, tensors...))
		if _, err := store.DecodeBatch(safetensors.Encode(m, ts)); rl.KindOf(err) != rl.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A batch survives its file, whatever is in it.
func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var b rl.Batch
		for i := range rapid.IntRange(0, 5).Draw(r, "rows") {
			s := rl.Sample{Episode: rl.EpisodeID{Run: "a", Task: rl.TaskID(rapid.String().Draw(r, "task")), Member: i}}
			for range rapid.IntRange(1, 5).Draw(r, "tokens") {
				learnt := rapid.Bool().Draw(r, "learnt")
				logp, adv := nan, float32(0)
				if learnt {
					logp, adv = rapid.Float32Range(-1e30, 0).Draw(r, "logp"), rapid.Float32Range(-1e30, 1e30).Draw(r, "adv")
				}
				s.Tokens, s.LossMask = append(s.Tokens, rapid.Int32Min(0).Draw(r, "token")), append(s.LossMask, learnt)
				s.LogProbs, s.Advantages = append(s.LogProbs, logp), append(s.Advantages, adv)
			}
			b.Samples = append(b.Samples, s)
		}
		file := store.EncodeBatch(b)
		got, err := store.DecodeBatch(file)
		if err != nil || !bytes.Equal(store.EncodeBatch(got), file) || len(got.Samples) != len(b.Samples) {
			r.Fatalf("%v: got %v, want %v", err, got, b)
		}
	})
}

func FuzzBatch(f *testing.F) {
	f.Add(store.EncodeBatch(rows()))
	f.Add(store.EncodeBatch(rl.Batch{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		batch, err := store.DecodeBatch(b)
		if err != nil {
			is(t, err, rl.Corrupt)
			return
		}
		file := store.EncodeBatch(batch)
		again := must[rl.Batch](t)(store.DecodeBatch(file))
		if !bytes.Equal(store.EncodeBatch(again), file) {
			t.Fatalf("%v", batch)
		}
	})
}
