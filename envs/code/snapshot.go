package code

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Snapshot is the SHA-256 of what follows, the episode's state on a line of JSON, and its files as a compressed tar archive.
func (e *env) Snapshot(context.Context) ([]byte, error) {
	if !e.open {
		return nil, closed()
	}
	var b bytes.Buffer
	b.Write(rl.CanonicalJSON(e.state))
	b.WriteByte('\n')
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		err = e.state.files.pack(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, at, "the working directory: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return append(sum[:], b.Bytes()...), nil
}

// Restore goes on from a snapshot.
func (e *env) Restore(_ context.Context, snapshot []byte) error {
	if len(snapshot) < sha256.Size || sha256.Sum256(snapshot[sha256.Size:]) != [sha256.Size]byte(snapshot[:sha256.Size]) {
		return rl.Errorf(rl.Corrupt, at, "the snapshot is not what was taken")
	}
	line, archive, _ := bytes.Cut(snapshot[sha256.Size:], []byte("\n"))
	var s state
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return rl.Errorf(rl.Corrupt, at, "the snapshot cannot be read: %w", err)
	}
	p, known := e.problemOf(s.Split, s.Index)
	if !known || s.Calls < 0 {
		return rl.Errorf(rl.Corrupt, at, "the snapshot is of no task of this world: %.100s", line)
	}
	files, leftOut, err := unpack(flate.NewReader(bytes.NewReader(archive)), e.bounds.disk)
	if err != nil || len(leftOut) > 0 {
		return rl.Errorf(rl.Corrupt, at, "the files of the snapshot cannot be read: %v %s", err, strings.Join(leftOut, " "))
	}
	s.files = files
	e.open, e.problem, e.state = true, p, s
	return nil
}
