package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/child"
)

// What the log takes of a program's stderr, and how much of its end an error repeats.
const (
	saidLine   = 1024 // bytes of a line
	saidMinute = 120  // lines a minute
	saidTail   = 600  // bytes
	saidQuote  = 200  // bytes of what is no reply, in an error
	mostLine   = 64 << 10
)

// said takes in what a program writes beside the protocol: lines on stderr, and what is no reply on stdout.
type said struct {
	log  *slog.Logger
	hide *child.Hider // values that nobody may read

	tail child.Tail // of at most saidTail bytes

	mu      sync.Mutex
	since   time.Time // when the minute began
	lines   int       // in this minute
	dropped int
}

// newSaid logs to log, and keeps the end for errors.
func newSaid(log *slog.Logger, hide *child.Hider) *said {
	return &said{log: log, hide: hide, tail: child.Tail{Keep: saidTail}}
}

// listen reads stderr to its end.
func (s *said) listen(stderr io.Reader) {
	r := bufio.NewReaderSize(stderr, mostLine)
	for whole := true; ; {
		line, err := r.ReadSlice('\n')
		if whole && len(line) > 0 { // of a longer line nobody hears the rest
			s.hear("stderr", line)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
		whole = err == nil
	}
}

// without is a text without secrets, of at most so many bytes: it is cut last, so that no half of a secret is left.
func (s *said) without(text []byte, most int) string {
	hidden := s.hide.Replace(strings.ToValidUTF8(string(text), "\uFFFD"))
	return strings.ToValidUTF8(hidden[:min(len(hidden), most)], "")
}

func (s *said) quote(line []byte) string { return strconv.Quote(s.without(line, saidQuote)) }

// hidden is why a program ended, without secrets.
func (s *said) hidden(why error) error {
	text := s.hide.Replace(why.Error())
	if _, ok := errors.AsType[mistake](why); ok {
		return mistake(text)
	}
	return errors.New(text)
}

// hear logs a line within the limits.
func (s *said) hear(from string, line []byte) {
	text := s.without(bytes.TrimRight(line, "\r\n"), saidLine)
	_, _ = s.tail.Write([]byte(text + "\n")) // it never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) > time.Minute {
		if s.dropped > 0 {
			s.log.Warn("the environment wrote more than the log takes", "lines", s.dropped)
		}
		s.since, s.lines, s.dropped = now, 0, 0
	}
	if s.lines++; s.lines > saidMinute {
		s.dropped++
		return
	}
	s.log.Info("the environment wrote", "to", from, "line", text)
}

// last is the end of what was said, for an error; empty: nothing was.
func (s *said) last() string {
	text := strings.TrimSpace(s.tail.Text(s.hide))
	if text == "" {
		return ""
	}
	return "; it wrote: " + text
}
