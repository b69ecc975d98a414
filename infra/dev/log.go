package dev

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

const (
	logFile     = "temporal.log"
	logFileSize = 8 << 20 // bytes; a longer file is put aside at the next start
)

// serverLog takes the Temporal server's log into a file. The user's terminal never sees it.
type serverLog struct {
	out   *slog.Logger
	level *slog.LevelVar
	fatal *fatal
}

// fatal is how the server's wish to end the process is met: while it starts by an error, later by an exit.
type fatal struct {
	up   atomic.Bool
	exit func(why string)
}

// startFailure is the panic that carries a fatal fault of the start out to runServer.
type startFailure string

var (
	_ log.Logger      = serverLog{}
	_ log.SLogWrapper = serverLog{}
)

// openLog appends to dir's log file; the previous one is kept once it has grown long.
func openLog(dir string) (io.WriteCloser, error) {
	path := at(dir, logFile)
	if s, err := os.Stat(path); err == nil && s.Size() > logFileSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func newServerLog(w io.Writer, exit func(why string)) serverLog {
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	return serverLog{
		out:   slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})),
		level: level,
		fatal: &fatal{exit: exit},
	}
}

// mute drops what follows: a server that stops logs a dozen harmless warnings.
func (s serverLog) mute() { s.level.Set(slog.LevelError + 1) }

func (s serverLog) SLog() *slog.Logger            { return s.out }
func (s serverLog) Debug(m string, t ...tag.Tag)  { s.emit(slog.LevelDebug, m, t) }
func (s serverLog) Info(m string, t ...tag.Tag)   { s.emit(slog.LevelInfo, m, t) }
func (s serverLog) Warn(m string, t ...tag.Tag)   { s.emit(slog.LevelWarn, m, t) }
func (s serverLog) Error(m string, t ...tag.Tag)  { s.emit(unlessGone(slog.LevelError, t), m, t) }
func (s serverLog) DPanic(m string, t ...tag.Tag) { s.emit(slog.LevelError, m, t) }

// unlessGone is the level of what failed: nothing did where who asked does not wait any more, as a worker that stops between two polls.
func unlessGone(level slog.Level, tags []tag.Tag) slog.Level {
	for _, t := range tags {
		if t.Key() == "error" && fmt.Sprint(t.Value()) == context.Canceled.Error() {
			return slog.LevelDebug
		}
	}
	return level
}

func (s serverLog) Panic(m string, t ...tag.Tag) {
	s.emit(slog.LevelError, m, t)
	panic(m)
}

// Fatal ends the start of the server, and once it is up the process: a server that lost one of its services
// would leave runs hanging, and a restarted process goes on with them.
func (s serverLog) Fatal(m string, t ...tag.Tag) {
	s.emit(slog.LevelError, m, t)
	for _, v := range t {
		m += fmt.Sprintf(" %s=%v", v.Key(), v.Value())
	}
	if s.fatal.up.Load() {
		s.fatal.exit(m)
	}
	panic(startFailure(m))
}

func (s serverLog) emit(level slog.Level, msg string, tags []tag.Tag) {
	if !s.out.Enabled(context.Background(), level) {
		return
	}
	attrs := make([]slog.Attr, len(tags))
	for i, t := range tags {
		attrs[i] = slog.Any(t.Key(), t.Value())
	}
	s.out.LogAttrs(context.Background(), level, msg, attrs...)
}
