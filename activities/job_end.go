package activities

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// inARow is how many attempts in a row may end by themselves and leave nothing, whatever they say of trying again: then a
// person has to look. An outage of the store does not come to that, since no attempt is started in one.
const inARow = 8

// atOnce is how many attempts in a row that were killed are followed by the next without a rest.
const atOnce = 3

// failure is what became of a job whose last attempt left no result, in its own words where there are any.
func (w *jobWatch) failure(ctx context.Context, s launch.Status) error {
	what, why, kind := "was lost", s.Why, rl.Unavailable
	told, err := w.progress(ctx, s.Attempt)
	if err != nil {
		return err
	}
	if told.Error != nil {
		why += ": " + told.Error.Message
	} else if line, err := w.lastLine(ctx, s.Attempt); err != nil {
		return err
	} else if line != "" {
		why += ": " + line
	}
	gaveUp, ended, err := w.ended(ctx)
	if err != nil {
		return err
	}
	if s.State == launch.Done {
		what, why = "ended well", "it left no result"
	}
	switch {
	case s.State == launch.Failed:
		what, kind = "failed", rl.Refused
		if told.Error != nil && (told.Error.Kind == rl.Corrupt || told.Error.Kind == rl.NotFound) {
			kind = told.Error.Kind // something that it was to read: an older checkpoint may be whole
		}
	case w.overdue(s): // its place was faster than tell
		kind, why = rl.Exhausted, fmt.Sprintf("it has run for %v, longer than update.timeout, %v", s.Ran.Round(time.Second), time.Duration(w.config.Timeout))
	case gaveUp >= inARow:
		kind, why = rl.Refused, fmt.Sprintf("%s (and so %d times in a row)", why, gaveUp)
	}
	e := rl.Errorf(kind, w.at(), "attempt %d %s: %s", s.Attempt, what, strings.TrimPrefix(why, ": "))
	if gaveUp > 0 || ended > atOnce {
		e.RetryAfter = wait(ended)
	}
	return e
}

// overdue reports whether an attempt has had its machine for longer than it may.
func (w *jobWatch) overdue(s launch.Status) bool {
	limit := time.Duration(w.config.Timeout)
	return limit > 0 && s.Ran > limit
}

// wait is how long a job rests after so many attempts in a row: a second, twice as long each time, less up
// to half of it by chance.
func wait(attempts int) time.Duration {
	d := time.Second << min(attempts-1, 8)
	return d - time.Duration(rand.Int64N(int64(d/2)))
}

// ended counts the newest attempts in a row that were not told to end, and those after the last of them that was killed,
// which gave up by themselves.
func (w *jobWatch) ended(ctx context.Context) (gaveUp, ended int, err error) {
	all, err := w.store.JobAttempts(ctx, w.job.Key)
	for _, t := range slices.Backward(all) {
		if t.Exit == launch.ExitPreempted {
			break
		}
		if t.Exit >= 0 && gaveUp == ended {
			gaveUp++
		}
		ended++
	}
	return gaveUp, ended, err
}

// lastLine is the last line of an attempt's log that says anything.
func (w *jobWatch) lastLine(ctx context.Context, attempt int) (string, error) {
	text, err := w.store.Get(ctx, store.JobLogKey(w.job.Key, attempt))
	if rl.KindOf(err) == rl.NotFound {
		return "", nil
	}
	said := strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
	return strings.TrimSpace(said[strings.LastIndexAny(said, "\r\n")+1:]), err // a progress bar writes its line over and over
}

// logLimit is how much of an attempt's log is kept, from its end, in bytes.
const logLimit = 1 << 20

// tail is the last n bytes of r, in constant memory.
func tail(r io.Reader, n int) ([]byte, error) {
	var kept []byte
	piece := make([]byte, n)
	for {
		m, err := io.ReadFull(r, piece)
		kept = bytes.Clone(append(kept, piece[:m]...)[max(0, len(kept)+m-n):])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return kept, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// use is what the job took, by the records of its attempts.
func (w *jobWatch) use(ctx context.Context, r rl.UpdateResult) (*rl.JobUse, error) {
	u := &rl.JobUse{Key: w.kept.Key, Launcher: w.kept.Launcher, Name: w.kept.Name}
	var billed float64
	all, err := w.store.JobAttempts(ctx, w.job.Key)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		u.Attempts++
		u.QueuedSeconds += t.QueuedSeconds
		u.RanSeconds += t.RanSeconds
		billed += cmp.Or(t.BilledSeconds, t.RanSeconds)
	}
	if train, said := r.Seconds["train"]; said {
		u.IdleSeconds = max(0, u.RanSeconds-train)
	}
	u.USD = billed / 3600 * w.config.USDHour
	return u, nil
}
