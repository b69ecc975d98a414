package propose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/longhaul-rl/longhaul/rl"
)

// ours checks that the file of tasks, where there is one, is as it was last written here, and counts what is in it.
func ours(path string, j *journal) (tasks int, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, rl.Errorf(rl.Invalid, path, "%w", err)
	}
	if !j.wrote[sum(b)] {
		return 0, rl.Errorf(rl.Conflict, path, "it exists, and is not as `longhaul tasks propose` has written it: name another file with --out")
	}
	return bytes.Count(b, []byte("\n")), nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// write puts the tasks in the place of those that were written before.
func (p *proposer) write() error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, t := range p.tasks {
		if err := e.Encode(t); err != nil {
			return err
		}
	}
	if err := p.journal.add(entry{Wrote: sum(b.Bytes())}); err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(p.Out), "."+filepath.Base(p.Out)+".new")
	if err := os.WriteFile(next, b.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.Rename(next, p.Out); err != nil {
		return err
	}
	p.written = len(p.tasks)
	return nil
}
