package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// benchFile is the size of the checkpoint that benchStore writes, in bytes.
const benchFile = 2 << 30

// benchStore writes a checkpoint of 2 GB to the embedded S3 server in this process, writes it again with one byte changed,
// and restores it, beside a plain copy of the file that is made durable. The server's own memory counts, too.
func benchStore(ctx context.Context, _ *app) (b benchmark, err error) {
	b = benchmark{Name: "store", Ratios: map[string]float64{}, Figures: map[string]float64{"bytes": benchFile}}
	dir, err := os.MkdirTemp("", "longhaul-bench")
	if err != nil {
		return b, err
	}
	defer os.RemoveAll(dir)
	server, err := s3.Open(filepath.Join(dir, "s3"), s3.Options{AccessKey: "bench", SecretKey: "bench"})
	if err != nil {
		return b, err
	}
	defer server.Close()
	st, err := store.Open(ctx, "s3://bench", store.Options{Endpoint: "http://bench.local", AccessKey: "bench", SecretKey: "bench", Transport: inprocess.Transport{Handler: server}})
	if err != nil {
		return b, err
	}
	path, memory := filepath.Join(dir, "weights"), peakMemory()
	var copied, put, again, saved float64
	var file rl.File
	for _, step := range []struct {
		seconds *float64
		do      func() error
	}{
		{&copied, func() error { return copyDurably(path, io.LimitReader(rand.NewChaCha8([32]byte{1}), benchFile)) }},
		{&put, func() error { file, err = putFile(ctx, st, path); return err }},
		{new(float64), func() error { return change(path) }},
		{&again, func() error { file, err = putFile(ctx, st, path); return err }},
		{&saved, func() error { return st.SaveFiles(ctx, filepath.Join(dir, "out"), []rl.File{file}) }},
	} {
		if *step.seconds, err = timed(step.do); err != nil {
			return b, err
		}
	}
	b.Figures["memory_mb"] = float64(memory()) / (1 << 20)
	b.Ratios["written over a durable copy"] = put / copied
	b.Ratios["written again, a byte changed, over a durable copy"] = again / copied
	b.Ratios["restored over a durable copy"] = saved / copied
	return b, nil
}

func putFile(ctx context.Context, st *store.Store, path string) (rl.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return rl.File{}, err
	}
	defer f.Close()
	return st.PutFrom(ctx, filepath.Base(path), f, benchFile)
}

// change writes another byte in the middle of a file.
func change(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := []byte{0}
	_, err = f.ReadAt(b, benchFile/2)
	b[0] ^= 1
	_, err2 := f.WriteAt(b, benchFile/2)
	return errors.Join(err, err2, f.Close())
}

func timed(do func() error) (seconds float64, err error) {
	start := time.Now()
	err = do()
	return time.Since(start).Seconds(), err
}

// copyDurably is what is compared with: the content made, written and synced.
func copyDurably(path string, content io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, content, make([]byte, 1<<20))
	return errors.Join(err, f.Sync(), f.Close())
}
