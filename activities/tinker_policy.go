package activities

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tinker"
	"github.com/longhaul-rl/longhaul/tiny"
)

// tinkerPolicy is the client of the versions that a Tinker service samples from. Conversations become token ids in this
// process.
func (a *Activities) tinkerPolicy(ctx context.Context, st *store.Store, cfg rl.Config) (*policy.Client, error) {
	client, err := a.service(ctx, cfg)
	if err != nil {
		return nil, err
	}
	chat := tinker.NewChat(client, func(ctx context.Context, v rl.Version) (tinker.Checkpoint, []byte, error) {
		run, n, err := v.Parse()
		if err != nil {
			return tinker.Checkpoint{}, nil, err
		}
		_, c, err := st.FindCheckpoint(ctx, run, n)
		if err != nil {
			return tinker.Checkpoint{}, nil, err
		}
		files, err := readFiles(ctx, st, c, []string{tinker.CheckpointFile, tiny.TokenizerFile})
		if err != nil {
			return tinker.Checkpoint{}, nil, err
		}
		of, err := tinker.DecodeCheckpoint(files[tinker.CheckpointFile])
		return of, files[tiny.TokenizerFile], err
	})
	n := cfg.Policy.Concurrency
	if n == 0 {
		n = openaiConcurrency
	}
	return policy.New(policy.Options{URL: "http://tinker/v1", Transport: inprocess.Transport{Handler: chat}, Splice: true, Concurrency: n}), nil
}

// keepTokenizer stores the base model's tokenizer with the run: token ids mean nothing without it. Its weights are the
// service's.
func (a *Activities) keepTokenizer(ctx context.Context, st *store.Store, cfg rl.Config) (rl.File, error) {
	b, err := a.readTokenizer(ctx, cfg.Policy.Base)
	if err != nil {
		return rl.File{}, err
	}
	if _, err := tinker.NewTemplate(b); err != nil {
		return rl.File{}, err
	}
	return st.PutFile(ctx, tiny.TokenizerFile, b)
}

func (a *Activities) readTokenizer(ctx context.Context, from string) ([]byte, error) {
	if strings.HasPrefix(from, "s3://") {
		source, err := a.store(ctx, from)
		if err != nil {
			return nil, err
		}
		return source.Get(ctx, tiny.TokenizerFile)
	}
	b, err := os.ReadFile(filepath.Join(from, tiny.TokenizerFile))
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "policy.base", "%w", err)
	}
	return b, nil
}
