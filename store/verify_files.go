package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// neededFile is a file and the objects that name it.
type neededFile struct {
	rl.File
	by []string // manifests and results
}

// need notes the files that a manifest or a result names.
func (v *verification) need(by string, files []rl.File) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range files {
		content := f.SHA256 + strings.Join(f.Chunks, ",")
		if v.files[content] == nil {
			v.files[content] = &neededFile{File: f}
		}
		v.files[content].by = append(v.files[content].by, by)
	}
}

// contents reads the files that the run needs, a chunk at a time.
func (v *verification) contents(ctx context.Context) error {
	order := slices.Sorted(maps.Keys(v.files))
	return each(len(order), parallel, func(i int) error { return v.content(ctx, v.files[order[i]]) })
}

// content checks the chunks of one file, and that they make the file. A fault names the chunk and who needs it.
func (v *verification) content(ctx context.Context, f *neededFile) error {
	slices.Sort(f.by)
	whole, size, good := sha256.New(), int64(0), true
	for _, sum := range f.Chunks {
		key := ChunkKey(sum)
		body, err := v.store.GetRef(ctx, rl.Ref{Key: key, SHA256: sum})
		switch {
		case err == nil:
			v.countOnce(key, body)
			size += int64(len(body))
			whole.Write(body)
		case damaged(err):
			good = false
			why := fault(key, err).Why
			v.fault(Fault{key, why + "; " + f.Name + " of " + strings.Join(f.by, ", ") + " needs it"})
		default:
			return err
		}
	}
	if !good {
		return nil
	}
	if err := checkFile(f.File, size, hex.EncodeToString(whole.Sum(nil))); err != nil {
		v.fault(fault(f.by[0], err))
	}
	return nil
}

// countOnce counts a chunk, which several files may share.
func (v *verification) countOnce(key string, body []byte) {
	v.mu.Lock()
	again := v.chunks[key]
	v.chunks[key] = true
	v.mu.Unlock()
	if !again {
		v.count(key, body)
	}
}

// jobs reads the specifications and results of the run's update jobs. Jobs of all runs lie together, since their
// keys are hashes.
func (v *verification) jobs(ctx context.Context) error {
	keys, err := v.store.keys(ctx, "jobs/")
	if err != nil {
		return err
	}
	return each(len(keys), readers, func(i int) error {
		if path.Base(keys[i]) != "spec.json" {
			return nil
		}
		return v.job(ctx, path.Base(path.Dir(keys[i])))
	})
}

func (v *verification) job(ctx context.Context, job string) error {
	key := JobSpecKey(job)
	body, err := v.store.Get(ctx, key)
	if err != nil && !damaged(err) {
		return err
	}
	if err == nil && SHA256(body) != job {
		err = rl.Errorf(rl.Corrupt, at(key), "its sha256 is %s, which is not its name", short(SHA256(body)))
	}
	var spec rl.UpdateSpec
	if err == nil {
		spec, err = decode[rl.UpdateSpec](key, body)
	}
	if err != nil { // whose it is cannot be told
		v.fault(fault(key, err))
		return nil
	}
	if spec.Run != v.run {
		return nil
	}
	v.count(key, body)
	v.refer(key, &spec.Config, spec.Base, spec.Batch)
	return v.result(ctx, job, spec)
}

func (v *verification) result(ctx context.Context, job string, spec rl.UpdateSpec) error {
	key := JobResultKey(job)
	if _, err := v.store.Head(ctx, key); rl.KindOf(err) == rl.NotFound {
		return nil // not done yet
	}
	return v.read(ctx, key, func(body []byte) error {
		r, err := decode[rl.UpdateResult](key, body)
		if err != nil {
			return err
		}
		if r.Spec != job || r.TokensConsumed != spec.TrainedTokens {
			return rl.Errorf(rl.Corrupt, at(key), "it is for spec %s and %d tokens, not %s and %d", short(r.Spec), r.TokensConsumed, short(job), spec.TrainedTokens)
		}
		v.need(key, r.Files)
		return checkSchema(key, r.Schema, rl.UpdateResultSchema)
	})
}
