package propose

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// journal keeps what was paid for, beside the tasks: replies by the hash of their question, the turns of solvers as they are taken and what
// attempts came to, and the tasks as they were written. It is a file of JSON lines that only grows; a line is on the disk before what it says
// counts. A last line that was cut off by a crash is taken off.
type journal struct {
	mu       sync.Mutex
	file     *os.File
	lock     *flock.Flock
	whole    int64 // bytes of the file that are lines
	failed   error // of a write: what came after half a line would be lost
	replies  map[string]reward.Reply
	turns    map[string][]rl.Recorded // by attempt
	anew     map[string]int           // how often an attempt began anew
	outcomes map[string]outcome       // by attempt
	made     int                      // calls of models
	wrote    map[string]bool          // SHA-256 of the tasks, each time before they were written
}

// entry is a line. Exactly one of its parts is set.
type entry struct {
	Question string        `json:"question,omitempty"`
	Reply    *reward.Reply `json:"reply,omitempty"`
	Attempt  string        `json:"attempt,omitempty"`
	Turn     *rl.Recorded  `json:"turn,omitempty"`
	Outcome  *outcome      `json:"outcome,omitempty"`
	Wrote    string        `json:"wrote,omitempty"`
}

// openJournal opens or makes a journal, for this process alone. Errors: Conflict when another one has it, Corrupt for a file that is
// none.
func openJournal(path string) (*journal, error) {
	lock := flock.New(path)
	held, err := lock.TryLock()
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, path, "%w", err)
	}
	if !held {
		return nil, rl.Errorf(rl.Conflict, path, "another process is at work on it")
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(rl.Errorf(rl.Invalid, path, "%w", err), lock.Close())
	}
	j := &journal{file: file, lock: lock, replies: map[string]reward.Reply{}, turns: map[string][]rl.Recorded{}, anew: map[string]int{}, outcomes: map[string]outcome{}, wrote: map[string]bool{}}
	if err := j.load(path); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.lock.Close()) }

func (j *journal) load(path string) error {
	for r, n := bufio.NewReader(j.file), 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return rl.Errorf(rl.Unavailable, path, "%w", err)
		}
		if errors.Is(err, io.EOF) { // what follows the last line's end was cut off
			if err := j.file.Truncate(j.whole); err != nil {
				return rl.Errorf(rl.Unavailable, path, "%w", err)
			}
			_, err := j.file.Seek(j.whole, io.SeekStart)
			return err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return rl.Errorf(rl.Corrupt, fmt.Sprintf("%s:%d", path, n), "%w", err)
		}
		j.whole += int64(len(line))
		j.take(e)
	}
}

func (j *journal) take(e entry) {
	switch {
	case e.Reply != nil:
		j.replies[e.Question] = *e.Reply
		j.made++
	case e.Turn != nil:
		j.turns[e.Attempt] = append(j.turns[e.Attempt], *e.Turn)
		j.made++
	case e.Outcome != nil:
		j.outcomes[e.Attempt] = *e.Outcome
		delete(j.turns, e.Attempt)
	case e.Attempt != "": // it begins anew
		j.anew[e.Attempt]++
		delete(j.turns, e.Attempt)
	case e.Wrote != "":
		j.wrote[e.Wrote] = true
	}
}

// add records an entry. After an error nothing more is recorded.
func (j *journal) add(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	n, err := j.file.Write(append(b, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.failed = errors.Join(err, j.file.Truncate(j.whole))
		return j.failed
	}
	j.whole += int64(n)
	j.take(e)
	return nil
}

func (j *journal) reply(question string) (reward.Reply, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r, ok := j.replies[question]
	return r, ok
}

// attempt is what is recorded of an attempt since it began, and how often it has begun anew.
func (j *journal) attempt(key string) (turns []rl.Recorded, anew int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.turns[key], j.anew[key]
}

func (j *journal) outcome(key string) (outcome, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o, ok := j.outcomes[key]
	return o, ok
}

// calls is how many calls of models are recorded, those of attempts that began anew included.
func (j *journal) calls() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.made
}

// spent is what the recorded replies took. Turns of solvers are not in it: the policy's client does not hear of their tokens.
func (j *journal) spent() (s rl.Spent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.replies {
		s.Add(r.Spent)
	}
	return s
}
