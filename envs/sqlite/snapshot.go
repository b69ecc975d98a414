package sqlite

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/longhaul-rl/longhaul/rl"
)

// snapshotHead is the first line of a snapshot. What follows are the pages that differ from the database in which the task
// begins, deflated.
type snapshotHead struct {
	World  string   `json:"world"` // its digest
	Split  rl.Split `json:"split"`
	Index  int      `json:"index"`
	Ended  bool     `json:"ended"`
	Bytes  int      `json:"bytes"`  // of the database
	SHA256 string   `json:"sha256"` // of the database
	Pages  []int    `json:"pages"`  // from 0, ascending
}

func (e *env) Snapshot(ctx context.Context) ([]byte, error) {
	if err := e.running(); err != nil {
		return nil, err
	}
	now, err := e.data.image()
	if err != nil {
		return nil, e.broken("snapshot", err)
	}
	first, err := e.world.beginning(ctx, e.task)
	if err != nil {
		return nil, e.broken("snapshot", err)
	}
	h := snapshotHead{World: e.world.digest, Split: e.task.Split, Index: e.task.index, Ended: e.ended, Bytes: len(now), SHA256: digest(now), Pages: []int{}}
	var pages bytes.Buffer
	w, err := flate.NewWriter(&pages, flate.BestSpeed)
	if err != nil {
		return nil, e.broken("snapshot", err)
	}
	for at := 0; at < len(now); at += pageBytes {
		page := now[at:min(at+pageBytes, len(now))]
		if at+len(page) <= len(first) && bytes.Equal(page, first[at:at+len(page)]) {
			continue
		}
		h.Pages = append(h.Pages, at/pageBytes)
		if _, err := w.Write(page); err != nil {
			return nil, e.broken("snapshot", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, e.broken("snapshot", err)
	}
	return append(append(rl.CanonicalJSON(h), '\n'), pages.Bytes()...), nil
}

func (e *env) Restore(ctx context.Context, snapshot []byte) error {
	e.task = nil
	head, pages, _ := bytes.Cut(snapshot, []byte{'\n'})
	var h snapshotHead
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return rl.Errorf(rl.Corrupt, e.at(), "the snapshot cannot be read: %w", err)
	}
	t := e.world.find(h.Split, h.Index)
	if t == nil || h.World != e.world.digest {
		return rl.Errorf(rl.Corrupt, e.at(), "the snapshot is of no task of this world: %s", head)
	}
	first, err := e.world.beginning(ctx, t)
	if err != nil {
		return e.broken("restoring", err)
	}
	state, err := h.applied(first, flate.NewReader(bytes.NewReader(pages)))
	if err != nil {
		return rl.Errorf(rl.Corrupt, e.at(), "the snapshot: %w", err)
	}
	if e.data == nil {
		if e.data, err = openDatabase(ctx); err != nil {
			return e.broken("restoring", err)
		}
	}
	if err := e.data.become(ctx, state); err != nil {
		return e.broken("restoring", err)
	}
	e.task, e.ended = t, h.Ended
	return nil
}

// applied is the database that a snapshot is of. Whatever else the head says, only the bytes that were hashed will do.
func (h snapshotHead) applied(first []byte, deflated io.Reader) ([]byte, error) {
	if h.Bytes < 0 || h.Bytes > mostBytes || h.Bytes%pageBytes != 0 {
		return nil, fmt.Errorf("a database of %d bytes", h.Bytes)
	}
	state := make([]byte, h.Bytes)
	copy(state, first)
	pages, err := io.ReadAll(io.LimitReader(deflated, int64(h.Bytes)+1))
	if err != nil {
		return nil, err
	}
	if len(pages) != len(h.Pages)*pageBytes {
		return nil, fmt.Errorf("%d pages in %d bytes", len(h.Pages), len(pages))
	}
	for i, p := range h.Pages {
		if p < 0 || p >= h.Bytes/pageBytes {
			return nil, fmt.Errorf("page %d of %d", p, h.Bytes/pageBytes)
		}
		copy(state[p*pageBytes:], pages[i*pageBytes:(i+1)*pageBytes])
	}
	if is := digest(state); is != h.SHA256 {
		return nil, fmt.Errorf("its pages make a database with SHA-256 %.12s, not %.12s", is, h.SHA256)
	}
	return state, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
