package store

import (
	"context"
	"slices"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// ChunkSize is the largest piece that files are cut into, in bytes.
const ChunkSize = 64 << 20

// parallel chunks of one file are on their way at once: enough to hide the latency of a remote endpoint.
const parallel = 4

// PutFile stores content as chunks and returns the file's entry for a manifest. What is stored already is not sent
// again. Errors as Get.
func (s *Store) PutFile(ctx context.Context, name string, content []byte) (rl.File, error) {
	chunks := slices.Collect(slices.Chunk(content, ChunkSize))
	file := rl.File{Name: name, Size: int64(len(content)), Chunks: make([]string, len(chunks))}
	err := each(len(chunks), parallel, func(i int) error {
		file.Chunks[i] = SHA256(chunks[i])
		return s.putChunk(ctx, file.Chunks[i], chunks[i])
	})
	if len(chunks) == 1 {
		file.SHA256 = file.Chunks[0]
	} else {
		file.SHA256 = SHA256(content)
	}
	return file, err
}

// putChunk stores a chunk unless it is there. One that is there is read back, since a checkpoint must not be built
// on a damaged chunk that only looks stored; it is replaced when it is damaged.
func (s *Store) putChunk(ctx context.Context, sum string, body []byte) error {
	ref := rl.Ref{Key: ChunkKey(sum), SHA256: sum, Size: int64(len(body))}
	_, err := s.Head(ctx, ref.Key)
	if rl.KindOf(err) == rl.NotFound {
		if err = s.put(ctx, ref, body, onlyNew); rl.KindOf(err) == rl.Conflict {
			err = nil // another writer was first
		}
		return err
	}
	if err != nil {
		return err
	}
	if _, err = s.GetRef(ctx, ref); damaged(err) { // or removed by gc since
		return s.put(ctx, ref, body, nil)
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

// CheckFiles reads files and throws their content away: what a recorded result refers to may be damaged since.
// Errors as ReadFile, of the first file that is not whole.
func (s *Store) CheckFiles(ctx context.Context, files []rl.File) error {
	for _, f := range files {
		if _, err := s.ReadFile(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

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
