package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
)

// A batch is one safetensors file, which the embedded trainer and the GPU job read alike. Its rows lie end to end,
// N tokens in all, S rows:
//
//	tok        i32  [N]    token ids
//	mask       bool [N]    true where there is a loss
//	adv        f32  [N]    advantages, 0 where there is no loss
//	logp       f32  [N]    behaviour log-probabilities, NaN where there is no loss
//	cu_seqlens i64  [S+1]  where each row begins; the last is N
//
// Its metadata holds schema, episodes (a JSON list of the S rows' episodes) and versions (a JSON list).
const batchSchema = "longhaul/batch/1"

// EncodeBatch is the stored form of a batch. Equal batches give equal bytes. It panics when the slices of a sample
// differ in length.
func EncodeBatch(b rl.Batch) []byte {
	var flat rl.Sample
	starts := []int64{0}
	episodes := make([]rl.EpisodeID, 0, len(b.Samples))
	for _, s := range b.Samples {
		if n := len(s.Tokens); n != len(s.LossMask) || n != len(s.LogProbs) || n != len(s.Advantages) {
			panic(fmt.Sprintf("store: the slices of a sample of %s differ in length", s.Episode))
		}
		flat.Tokens = append(flat.Tokens, s.Tokens...)
		flat.LossMask = append(flat.LossMask, s.LossMask...)
		flat.Advantages = append(flat.Advantages, s.Advantages...)
		flat.LogProbs = append(flat.LogProbs, s.LogProbs...)
		starts = append(starts, int64(len(flat.Tokens)))
		episodes = append(episodes, s.Episode)
	}
	n := []int{len(flat.Tokens)}
	meta := map[string]string{
		"schema":   batchSchema,
		"episodes": string(rl.CanonicalJSON(episodes)),
		"versions": string(rl.CanonicalJSON(append([]rl.Version{}, b.Versions...))),
	}
	return safetensors.Encode(meta, []safetensors.Tensor{
		safetensors.I32("tok", n, flat.Tokens),
		safetensors.Bool("mask", n, flat.LossMask),
		safetensors.F32("adv", n, flat.Advantages),
		safetensors.F32("logp", n, flat.LogProbs),
		safetensors.I64("cu_seqlens", []int{len(starts)}, starts),
	})
}

// PutBatch is PutFirst of a batch in its stored form: a recorded one that cannot be read is damaged, and replaced.
func (s *Store) PutBatch(ctx context.Context, key string, body []byte) (rl.Ref, []byte, error) {
	return s.putFirst(ctx, key, body, func(b []byte) error {
		_, err := DecodeBatch(b)
		return err
	})
}

// DecodeBatch reads the stored form, strictly: five tensors of these types and lengths, rows that are not empty,
// finite numbers where there is a loss. Errors: Corrupt.
func DecodeBatch(b []byte) (rl.Batch, error) {
	batch, err := decodeBatch(b)
	if err != nil {
		return rl.Batch{}, rl.Errorf(rl.Corrupt, "batch", "%w", err)
	}
	return batch, nil
}

func decodeBatch(b []byte) (batch rl.Batch, err error) {
	meta, tensors, err := safetensors.Decode(b)
	if err != nil {
		return batch, err
	}
	if meta["schema"] != batchSchema {
		return batch, fmt.Errorf("its schema is %q, not %q", meta["schema"], batchSchema)
	}
	flat, starts, err := columns(tensors)
	if err != nil {
		return batch, err
	}
	var episodes []rl.EpisodeID
	if err := json.Unmarshal([]byte(meta["episodes"]), &episodes); err != nil {
		return batch, fmt.Errorf("its episodes: %w", err)
	}
	if err := json.Unmarshal([]byte(meta["versions"]), &batch.Versions); err != nil {
		return batch, fmt.Errorf("its versions: %w", err)
	}
	if len(starts) != len(episodes)+1 || starts[0] != 0 || starts[len(episodes)] != int64(len(flat.Tokens)) {
		return batch, fmt.Errorf("cu_seqlens does not cut %d tokens into %d rows", len(flat.Tokens), len(episodes))
	}
	for i, e := range episodes {
		from, to := starts[i], starts[i+1]
		if from >= to || to > int64(len(flat.Tokens)) {
			return batch, fmt.Errorf("row %d runs from %d to %d of %d tokens", i, from, to, len(flat.Tokens))
		}
		// Three-index slices: appending to one row must not run into the next.
		row := rl.Sample{Episode: e, Tokens: flat.Tokens[from:to:to], LossMask: flat.LossMask[from:to:to], LogProbs: flat.LogProbs[from:to:to], Advantages: flat.Advantages[from:to:to]}
		if err := checkRow(row); err != nil {
			return batch, fmt.Errorf("row %d, %s: %w", i, e, err)
		}
		batch.Samples = append(batch.Samples, row)
	}
	return batch, nil
}

// columns reads the five tensors, in any order, into one long sample and the row starts.
func columns(tensors []safetensors.Tensor) (flat rl.Sample, starts []int64, err error) {
	byName := map[string]safetensors.Tensor{}
	for _, t := range tensors {
		if len(t.Shape) != 1 {
			return flat, nil, fmt.Errorf("tensor %q has %d dimensions, not one", t.Name, len(t.Shape))
		}
		byName[t.Name] = t
	}
	if len(tensors) != 5 {
		return flat, nil, fmt.Errorf("it has %d tensors, not tok, mask, adv, logp, cu_seqlens", len(tensors))
	}
	flat.Tokens, err = column(byName["tok"], safetensors.Tensor.Int32s, err)
	flat.LossMask, err = column(byName["mask"], safetensors.Tensor.Bools, err)
	flat.Advantages, err = column(byName["adv"], safetensors.Tensor.Float32s, err)
	flat.LogProbs, err = column(byName["logp"], safetensors.Tensor.Float32s, err)
	starts, err = column(byName["cu_seqlens"], safetensors.Tensor.Int64s, err)
	if n := len(flat.Tokens); err == nil && (n != len(flat.LossMask) || n != len(flat.Advantages) || n != len(flat.LogProbs)) {
		err = fmt.Errorf("tok, mask, adv and logp differ in length")
	}
	return flat, starts, err
}

// column reads one tensor unless an earlier one failed. A tensor that is missing has the wrong type: none.
func column[T any](t safetensors.Tensor, read func(safetensors.Tensor) ([]T, error), err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return read(t)
}

// checkRow checks what a trainer relies on.
func checkRow(s rl.Sample) error {
	finite := func(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
	for i, token := range s.Tokens {
		switch learnt := s.LossMask[i]; {
		case token < 0:
			return fmt.Errorf("token %d is %d", i, token)
		case learnt && !(finite(s.LogProbs[i]) && finite(s.Advantages[i])):
			return fmt.Errorf("token %d is trained on with log-probability %v and advantage %v", i, s.LogProbs[i], s.Advantages[i])
		case !learnt && s.Advantages[i] != 0:
			return fmt.Errorf("token %d has an advantage and no loss", i)
		}
	}
	return nil
}
