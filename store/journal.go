package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// How a journal gathers. A segment waits this long for company, and so many are written at once, more where a request
// takes long; while all of these are under way the next one grows, up to segmentBytes. A PUT for every turn costs 6 to 12
// times as much at 1,024 episodes.
const (
	segmentWindow = 2 * time.Millisecond
	asideEmbedded = 2
	asideNetwork  = 8
	segmentBytes  = 4 << 20
)

// Journal makes turns durable: what the episodes of this process append at about the same time shares one segment, an
// immutable object of JSON lines. Other processes write segments of their own beside it. It is safe for concurrent use.
type Journal struct {
	store  *Store
	prefix string
	writer string // tells the segments of processes apart
	aside  int    // segments written at once

	loading sync.Mutex // of one Load at a time: what one fetches, the next one finds

	mu        sync.Mutex
	waiting   []pending
	gathering bool // a segment is about to be written
	writing   int
	segments  int                // begun
	read      map[string]segment // by key; segments never change
}

// pending is an entry that is not durable yet.
type pending struct {
	entry rl.Entry
	line  []byte
	done  chan error
}

// segment is what is known of a stored segment: whose entries it has, and the entries where another process wrote it.
type segment struct {
	members map[rl.Member]bool
	entries []rl.Entry
}

// Journal opens the journal under a prefix (JournalPrefix, EvaluationJournalPrefix). It makes no request.
func (s *Store) Journal(prefix string) *Journal {
	var name [8]byte
	rand.Read(name[:])
	aside := asideEmbedded
	if s.network {
		aside = asideNetwork
	}
	return &Journal{store: s, prefix: prefix, aside: aside, writer: hex.EncodeToString(name[:]), read: map[string]segment{}}
}

// Append returns once the entry is durable. After an error it may be on record or not, and the attempt that appends
// must end. Errors: Invalid when a number has no JSON form, ctx's own, else as PutNew.
func (j *Journal) Append(ctx context.Context, e rl.Entry) error {
	line, err := encode(j.prefix, e)
	if err != nil {
		return err
	}
	p := pending{e, line, make(chan error, 1)}
	j.mu.Lock()
	j.waiting = append(j.waiting, p)
	j.gather()
	j.mu.Unlock()
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gather sees to it that what waits is written. The caller holds mu.
func (j *Journal) gather() {
	if len(j.waiting) > 0 && !j.gathering && j.writing < j.aside {
		j.gathering = true
		time.AfterFunc(segmentWindow, j.write)
	}
}

// write writes one segment. It is bound to nobody's context: the end of one episode must not fail the turns of others.
func (j *Journal) write() {
	j.mu.Lock()
	n, size := 0, 0
	for n < len(j.waiting) && (n == 0 || size+len(j.waiting[n].line) < segmentBytes) {
		size += len(j.waiting[n].line) + 1
		n++
	}
	batch := j.waiting[:n:n]
	j.waiting = j.waiting[n:]
	j.segments++
	key := fmt.Sprintf("%s%s-%08d.jsonl", j.prefix, j.writer, j.segments)
	j.gathering = false
	j.writing++
	j.gather()
	j.mu.Unlock()

	mine := segment{members: map[rl.Member]bool{}}
	lines := make([]byte, 0, size)
	for _, p := range batch {
		mine.members[p.entry.Member] = true
		lines = append(append(lines, p.line...), '\n')
	}
	_, err := j.store.PutNew(context.Background(), key, encodeSegment(lines))

	j.mu.Lock()
	j.read[key] = mine
	j.writing--
	j.gather()
	j.mu.Unlock()
	for _, p := range batch {
		p.done <- err
	}
}

// Load reads what is on record of the episodes of some tasks, whoever wrote it. A segment that is damaged counts as
// never written, which costs the turns from there on; damage says which. Errors as Get.
func (j *Journal) Load(ctx context.Context, tasks map[rl.TaskID]bool) (episodes map[rl.Member]*rl.EpisodeJournal, damage []Fault, err error) {
	j.loading.Lock()
	defer j.loading.Unlock()
	var all []rl.Entry
	for o, err := range j.store.List(ctx, j.prefix) {
		if err != nil {
			return nil, nil, err
		}
		entries, err := j.entries(ctx, o.Key, tasks)
		if damaged(err) {
			damage = append(damage, fault(o.Key, err))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			if tasks[e.Task] {
				all = append(all, e)
			}
		}
	}
	return rl.MergeJournal(all), damage, nil
}

// entries are those of a segment. Each segment of another process is fetched once; one of this process is fetched
// again when it is asked about, which is rare, instead of being kept.
func (j *Journal) entries(ctx context.Context, key string, tasks map[rl.TaskID]bool) ([]rl.Entry, error) {
	j.mu.Lock()
	known, ok := j.read[key]
	j.mu.Unlock()
	if ok && known.entries == nil {
		for m := range known.members {
			ok = ok && !tasks[m.Task]
		}
	}
	if ok {
		return known.entries, nil
	}
	body, err := j.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeSegment(key, body)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, mine := j.read[key]; !mine {
		j.read[key] = segment{entries: entries}
	}
	return entries, nil
}
