package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// ChunkSize is what files are cut into, in bytes: every chunk but a file's last is of this size.
const ChunkSize = 64 << 20

// parallel chunks of one file are on their way at once: enough to hide the latency of a remote endpoint.
const parallel = 4

// PutFile stores content as chunks and returns the file's entry for a manifest. What is stored already is not sent
// again. Errors as Get.
func (s *Store) PutFile(ctx context.Context, name string, content []byte) (rl.File, error) {
	return s.PutFrom(ctx, name, bytes.NewReader(content), int64(len(content)))
}

// PutFrom is PutFile for content that need not fit in memory: it is read up to three times and never held. Errors as Get,
// and what r fails with; Unavailable when the content changes meanwhile.
func (s *Store) PutFrom(ctx context.Context, name string, r io.ReaderAt, size int64) (rl.File, error) {
	file := rl.File{Name: name, Size: size, Chunks: make([]string, chunks(size))}
	err := each(len(file.Chunks), parallel, func(i int) (err error) {
		body := io.NewSectionReader(r, int64(i)*ChunkSize, min(ChunkSize, size-int64(i)*ChunkSize))
		if file.Chunks[i], err = sumFrom(body); err == nil {
			err = s.putChunk(ctx, file.Chunks[i], body)
		}
		return err
	})
	if err == nil && len(file.Chunks) == 1 {
		file.SHA256 = file.Chunks[0]
	} else if err == nil {
		file.SHA256, err = sumFrom(io.NewSectionReader(r, 0, size))
	}
	return file, err
}

// chunks is how many of them a file of size bytes has.
func chunks(size int64) int64 { return (size + ChunkSize - 1) / ChunkSize }

// sumFrom is the sha256 of a section. Errors: io.ErrUnexpectedEOF when there is less than the section has.
func sumFrom(r *io.SectionReader) (string, error) {
	whole := sha256.New()
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	n, err := io.Copy(whole, r)
	if err == nil && n < r.Size() {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(whole.Sum(nil)), err
}

// putChunk stores a chunk unless it is there. One that is there is read back, since a checkpoint must not be built
// on a damaged chunk that only looks stored; it is replaced when it is damaged.
func (s *Store) putChunk(ctx context.Context, sum string, body *io.SectionReader) error {
	ref := rl.Ref{Key: ChunkKey(sum), SHA256: sum, Size: body.Size()}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := s.Head(ctx, ref.Key)
	if rl.KindOf(err) == rl.NotFound {
		if err = s.send(ctx, ref, body, onlyNew); rl.KindOf(err) == rl.Conflict {
			err = nil // another writer was first
		}
		return err
	}
	if err != nil {
		return err
	}
	if _, err = s.copyChunk(ctx, sum, nowhere); damaged(err) { // or removed by gc since
		return s.send(ctx, ref, body, nil)
	}
	return err
}

// ReadFile reads a file from its chunks. Errors: Corrupt or NotFound at the chunk, Corrupt at the file when the
// whole is not what the manifest says, else as Get.
func (s *Store) ReadFile(ctx context.Context, f rl.File) ([]byte, error) {
	pieces := make([][]byte, len(f.Chunks))
	err := each(len(f.Chunks), parallel, func(i int) (err error) {
		pieces[i], err = s.GetRef(ctx, rl.Ref{Key: ChunkKey(f.Chunks[i]), SHA256: f.Chunks[i]})
		return err
	})
	if err != nil {
		return nil, err
	}
	content := slices.Concat(pieces...)
	if len(pieces) == 1 && f.SHA256 == f.Chunks[0] { // most files: the chunk's check was the file's
		return content, checkFile(f, int64(len(content)), f.SHA256)
	}
	return content, checkFile(f, int64(len(content)), SHA256(content))
}

// CheckFiles reads the chunks of files and throws their content away: what a recorded result refers to may be damaged
// since. Errors: Corrupt or NotFound at the chunk, Corrupt at a file whose chunks make another size; else as Get.
func (s *Store) CheckFiles(ctx context.Context, files []rl.File) error {
	for _, f := range files {
		sizes := make([]int64, len(f.Chunks))
		err := each(len(f.Chunks), parallel, func(i int) (err error) {
			sizes[i], err = s.copyChunk(ctx, f.Chunks[i], nowhere)
			return err
		})
		if err != nil {
			return err
		}
		size := int64(0)
		for _, n := range sizes {
			size += n
		}
		if err := checkFile(f, size, f.SHA256); err != nil {
			return err
		}
	}
	return nil
}

// copyChunk reads a chunk into what to gives, without holding it in memory, and returns its size. A body that breaks off is
// asked for again, and then to is, too. On an error a part may have been written, or damaged bytes. Errors as GetRef, and
// the writer's own.
func (s *Store) copyChunk(ctx context.Context, sum string, to func() io.Writer) (size int64, err error) {
	key, whole := ChunkKey(sum), sha256.New()
	var w target
	_, err = s.read(ctx, key, func(body io.Reader, _ int64) error {
		whole.Reset()
		w = target{Writer: to()}
		if size, err = io.Copy(io.MultiWriter(whole, &w), body); w.err != nil {
			return nil // the endpoint is not to blame
		}
		return err
	}, unchecked)
	if err = errors.Join(err, w.err); err != nil {
		return 0, err
	}
	if got := hex.EncodeToString(whole.Sum(nil)); got != sum {
		return 0, rl.Errorf(rl.Corrupt, at(key), "its sha256 is %.12s, not %.12s as was recorded", got, sum)
	}
	return size, nil
}

// target remembers the error of a writer, to tell it from a reader's.
type target struct {
	io.Writer
	err error
}

func (t *target) Write(b []byte) (n int, err error) {
	n, t.err = t.Writer.Write(b)
	return n, t.err
}

func nowhere() io.Writer { return io.Discard }

// checkFile compares what was read with the manifest's entry.
func checkFile(f rl.File, size int64, sum string) error {
	if size != f.Size || sum != f.SHA256 {
		return rl.Errorf(rl.Corrupt, at("file "+f.Name), "its chunks make %d bytes with sha256 %.12s, not %d with %.12s", size, sum, f.Size, f.SHA256)
	}
	return nil
}

// each calls do for 0..n-1, a few at a time, and returns the error of the lowest index that failed.
func each(n, workers int, do func(i int) error) error {
	errs := make([]error, n)
	free := make(chan struct{}, workers)
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
