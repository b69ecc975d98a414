package store

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/longhaul-rl/longhaul/rl"
)

// SaveFiles writes files of a checkpoint into a directory of this machine, under their names, in constant memory. A file
// that is there whole is left as it is; one that was interrupted goes on at the chunks that are missing. A name never
// stands for half a file.
// Errors: Invalid for a name that leads out of the directory; Corrupt or NotFound at the chunk, Corrupt at the file when
// the whole is not what the manifest says; the file system's own; else as Get.
func (s *Store) SaveFiles(ctx context.Context, dir string, files []rl.File) error {
	for _, f := range files {
		if !filepath.IsLocal(f.Name) {
			return rl.Errorf(rl.Invalid, at("file "+f.Name), "its name leads out of the directory it is written to")
		}
		path := filepath.Join(dir, f.Name)
		if whole, err := sumOf(path); err == nil && whole == f.SHA256 {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := s.saveFile(ctx, path, f); err != nil {
			return err
		}
	}
	return nil
}

// saveFile assembles the file beside its place, and moves it there once it is whole and durable.
func (s *Store) saveFile(ctx context.Context, path string, f rl.File) error {
	if want := chunks(f.Size); int64(len(f.Chunks)) != want {
		return rl.Errorf(rl.Corrupt, at("file "+f.Name), "it has %d chunks; %d bytes are %d", len(f.Chunks), f.Size, want)
	}
	part, err := os.OpenFile(path+".part", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = each(len(f.Chunks), parallel, func(i int) error { return s.saveChunk(ctx, part, f, i) })
	if err == nil {
		err = part.Truncate(f.Size)
	}
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	whole, err := sumOf(part.Name())
	if err != nil {
		return err
	}
	if err := checkFile(f, f.Size, whole); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// saveChunk puts chunk i where it belongs in the file, unless it is there.
func (s *Store) saveChunk(ctx context.Context, part *os.File, f rl.File, i int) error {
	from := int64(i) * ChunkSize
	size := min(ChunkSize, f.Size-from)
	if there, err := sumFrom(io.NewSectionReader(part, from, size)); err == nil && there == f.Chunks[i] {
		return nil
	}
	n, err := s.copyChunk(ctx, f.Chunks[i], func() io.Writer { return io.NewOffsetWriter(part, from) })
	if err == nil && n != size {
		err = rl.Errorf(rl.Corrupt, at(ChunkKey(f.Chunks[i])), "it has %d bytes; chunk %d of %s has %d", n, i, f.Name, size)
	}
	return err
}

// sumOf is the sha256 of a file's content.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return sumFrom(io.NewSectionReader(f, 0, info.Size()))
}

// SaveObject writes an object to a file of this machine, in constant memory. Errors as Get, and the file system's own.
func (s *Store) SaveObject(ctx context.Context, key, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = s.read(ctx, key, func(body io.Reader, _ int64) error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(f, body)
		return errors.Join(err, f.Truncate(n))
	})
	return errors.Join(err, f.Close())
}
