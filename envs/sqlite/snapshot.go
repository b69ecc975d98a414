package sqlite

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"

	"github.com/longhaul-rl/longhaul/rl"
)

// snapshotHead is the first line of a snapshot. What follows are the pages that differ from the database in which the task
// begins, deflated.
type snapshotHead struct {
	World string   `json:"world"` // its digest
	Split rl.Split `json:"split"`
	Index int      `json:"index"`
	Ended bool     `json:"ended"`
	Bytes int      `json:"bytes"` // of the database
	// CRC32C is of the database: the store keeps our bytes, this finds that ours are other ones now. They are after an upgrade of
	// SQLite, which writes its version into each: older snapshots are of no use then, and calls are played again.
	CRC32C uint32 `json:"crc32c"`
	Pages  []int  `json:"pages"` // from 0, ascending
}

func (e *env) Snapshot(context.Context) ([]byte, error) {
	if err := e.running(); err != nil {
		return nil, err
	}
	now, err := e.data.image()
	if err != nil {
		return nil, e.broken("snapshot", err)
	}
	h := snapshotHead{World: e.world.digest, Split: e.task.Split, Index: e.task.index, Ended: e.ended, Bytes: len(now), CRC32C: crc32.Checksum(now, castagnoli), Pages: []int{}}
	var pages bytes.Buffer
	w, err := flate.NewWriter(&pages, flate.BestSpeed)
	if err != nil {
		return nil, e.broken("snapshot", err)
	}
	for i, hash := range hashed(now) {
		if i < len(e.first) && hash == e.first[i] {
			continue
		}
		h.Pages = append(h.Pages, i)
		if _, err := w.Write(now[i*pageBytes : (i+1)*pageBytes]); err != nil {
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
	first, err := e.beginning(ctx, t)
	if err != nil {
		return e.broken("restoring", err)
	}
	hashes := hashed(first)
	state, err := h.applied(first, flate.NewReader(bytes.NewReader(pages)))
	if err != nil {
		return rl.Errorf(rl.Corrupt, e.at(), "the snapshot: %w", err)
	}
	if err := e.data.become(ctx, state); err != nil {
		return e.broken("restoring", err)
	}
	e.task, e.ended, e.first = t, h.Ended, hashes
	return nil
}

// applied makes the database in which the task begins the one that the snapshot is of. Whatever else the head says, only the bytes
// that were hashed will do.
func (h snapshotHead) applied(state []byte, deflated io.Reader) ([]byte, error) {
	if h.Bytes < 0 || h.Bytes > mostBytes || h.Bytes%pageBytes != 0 {
		return nil, fmt.Errorf("a database of %d bytes", h.Bytes)
	}
	if h.Bytes > len(state) {
		state = append(state, make([]byte, h.Bytes-len(state))...)
	}
	state = state[:h.Bytes]
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
	if is := crc32.Checksum(state, castagnoli); is != h.CRC32C {
		return nil, fmt.Errorf("its pages make a database with CRC-32C %08x, not %08x", is, h.CRC32C)
	}
	return state, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pageHash is of this process alone.
var pageHash = maphash.MakeSeed()

// hashed is a hash of each page of a database.
func hashed(image []byte) []uint64 {
	pages := make([]uint64, len(image)/pageBytes)
	for i := range pages {
		pages[i] = maphash.Bytes(pageHash, image[i*pageBytes:(i+1)*pageBytes])
	}
	return pages
}
