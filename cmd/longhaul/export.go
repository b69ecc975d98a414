package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// exportLease is how long gc keeps a checkpoint for an export that was killed.
const exportLease = 6 * time.Hour

// exported is what `export --json` says.
type exported struct {
	Version rl.Version `json:"version"`
	Format  string     `json:"format"`
	Out     string     `json:"out"`
	Merged  bool       `json:"merged"` // an adapter into its base
	Files   []string   `json:"files"`
}

func (a *app) exportCommand() *cobra.Command {
	var format, out string
	var alone bool
	c := a.jsonFlag(&cobra.Command{
		Use: "export RUN[@VERSION] --format hf --out DIR", Short: "Write a version as a Hugging Face directory, which transformers and vLLM load", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Long: "export writes the newest version, or the one named (orders-1@12, orders-1@best), into a directory that must not exist: weights,\n" +
			"configuration, tokenizer and chat template, every byte checked. A LoRA adapter is merged into its base, or with --adapter\n" +
			"written alone, as peft writes it. Interrupted, the same command goes on where it stopped.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "hf" {
				return usagef("--format %q is not hf", format)
			}
			if out == "" {
				return usagef("--out is the directory to write")
			}
			conn, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer conn.Close()
			e, err := a.export(cmd.Context(), conn, args[0], filepath.Clean(out), alone)
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.object(e)
			}
			a.out.print("%s is in %s: %s\n", e.Version, e.Out, strings.Join(e.Files, ", "))
			return nil
		},
	})
	c.Flags().StringVar(&format, "format", "hf", "hf: a Hugging Face directory")
	c.Flags().StringVar(&out, "out", "", "directory to write; must not exist")
	c.Flags().BoolVar(&alone, "adapter", false, "of a LoRA version, write the adapter alone")
	return c
}

// export assembles the directory beside its place, and gives it its name once it is whole.
func (a *app) export(ctx context.Context, c *conn, name, out string, alone bool) (e exported, err error) {
	run, n, err := versionNamed(ctx, c, name)
	if err != nil {
		return e, err
	}
	e = exported{Version: rl.VersionOf(run, n), Format: "hf", Out: out}
	lock, err := lockExport(out)
	if err != nil {
		return e, err
	}
	defer lock.Unlock()
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return e, rl.Errorf(rl.Conflict, out, "it exists: name a directory that does not")
	}
	pin := fmt.Sprintf("export-%08d-%.8s", n, exporter(out))
	if err := c.Store.Pin(ctx, run, n, pin, "export to "+out, exportLease); err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, c.Store.Unpin(context.WithoutCancel(ctx), run, pin)) }()
	_, ckpt, err := c.Store.FindCheckpoint(ctx, run, n)
	if err != nil {
		return e, err
	}
	files, lora, err := modelFiles(ckpt, alone)
	if err != nil {
		return e, err
	}
	e.Merged = lora && !alone
	part := fmt.Sprintf("%s.%s.part", out, e.Version)
	if alone {
		part = fmt.Sprintf("%s.%s-adapter.part", out, e.Version)
	}
	if err := a.assemble(ctx, c.Store, part, files, e.Merged); err != nil {
		return e, err
	}
	entries, err := os.ReadDir(part)
	for _, f := range entries {
		e.Files = append(e.Files, f.Name())
	}
	if err = errors.Join(err, os.Rename(part, out)); err != nil {
		return e, err
	}
	return e, os.Remove(lock.Path()) // whoever has it open still finds the directory there
}

// lockExport makes sure that one process alone writes a directory: two would merge an adapter into weights twice.
func lockExport(out string) (*flock.Flock, error) {
	lock := flock.New(out + ".lock")
	free, err := lock.TryLock()
	if err != nil {
		return nil, rl.Errorf(rl.Refused, out, "it cannot be written: %w", err)
	}
	if !free {
		return nil, rl.Errorf(rl.Conflict, out, "another export is writing it")
	}
	return lock, nil
}

// exporter tells exports apart, each of which holds its checkpoint by a lease of its own: where they write, on which machine.
func exporter(out string) string {
	if abs, err := filepath.Abs(out); err == nil {
		out = abs
	}
	host, _ := os.Hostname() // without one, those of several machines are alike
	return store.SHA256([]byte(host + ":" + out))
}

// modelFiles are the files of a checkpoint that make a model, or its adapter alone. lora reports whether it has one.
func modelFiles(c rl.Checkpoint, alone bool) (files []rl.File, lora bool, err error) {
	_, lora = c.File(adapter.ConfigFile)
	base := false
	if alone && !lora {
		return nil, lora, rl.Errorf(rl.Invalid, "version "+string(c.Version), "all of its weights were trained: it has no adapter")
	}
	for _, f := range c.Files {
		isAdapter := f.Name == adapter.ConfigFile || f.Name == adapter.WeightsFile
		if strings.HasPrefix(path.Base(f.Name), "optimizer") || alone && !isAdapter {
			continue
		}
		files = append(files, f)
		base = base || !isAdapter && path.Ext(f.Name) == ".safetensors"
	}
	if !base && !alone { // a Tinker service keeps it
		return nil, lora, rl.Errorf(rl.Invalid, "version "+string(c.Version), "its base model is not in the store, so there is nothing to merge into: --adapter writes the adapter alone")
	}
	return files, lora, nil
}

// removeOthers removes what a killed export of other files has left in a directory.
func removeOthers(dir string, files []rl.File) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		wanted := slices.ContainsFunc(files, func(f rl.File) bool { return strings.TrimSuffix(e.Name(), ".part") == f.Name })
		if !wanted {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// assemble writes the files into dir. Merging changes weights in place, so what a killed merge left is written anew.
func (a *app) assemble(ctx context.Context, st *store.Store, dir string, files []rl.File, merge bool) error {
	total := int64(0)
	for _, f := range files {
		total += f.Size
	}
	a.out.now("writing %d files, %s ...", len(files), size(total))
	if err := removeOthers(dir, files); err != nil {
		return err
	}
	if err := st.SaveFiles(ctx, dir, files); err != nil || !merge {
		return err
	}
	a.out.now("merging the adapter ...")
	return adapter.Merge(dir)
}
