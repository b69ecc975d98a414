package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
)

// output is where a command writes: results to stdout, progress to stderr. On a terminal the last line of stderr may be
// live, that is written over; everything else goes above it. It is safe for concurrent use.
type output struct {
	stdout, stderr io.Writer
	json, quiet    bool
	live           bool         // stderr is a terminal that can rewrite a line
	width          int          // of the terminal, or of what is written to a file
	style          render.Style // of stdout
	progress       render.Style // of stderr

	mu       sync.Mutex
	liveLine bool // one stands there now

	lost error // why a result could not be written
}

// plainWidth is assumed where no terminal says how wide it is.
const plainWidth = 100

func newOutput(stdout, stderr *os.File, getenv func(string) string) *output {
	o := &output{stdout: stdout, stderr: stderr, width: plainWidth}
	dumb := getenv("TERM") == "dumb"
	colour := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) && !dumb && getenv("NO_COLOR") == "" }
	o.style = render.Style{Color: colour(stdout), ASCII: dumb}
	o.progress = render.Style{Color: colour(stderr), ASCII: dumb}
	o.live = term.IsTerminal(int(stderr.Fd())) && !dumb
	for _, f := range []*os.File{stdout, stderr} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			o.width = w
			return o
		}
	}
	if w, err := strconv.Atoi(getenv("COLUMNS")); err == nil && w > 0 {
		o.width = w
	}
	return o
}

// object writes one JSON value as a line on stdout.
func (o *output) object(v any) error {
	e := json.NewEncoder(o.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// print writes a result to stdout. What cannot be written is told by lost when the command ends.
func (o *output) print(format string, args ...any) {
	o.endLive()
	if _, err := fmt.Fprint(o.stdout, render.Inert(fmt.Sprintf(format, args...))); err != nil && o.lost == nil {
		o.lost = err
	}
}

// say writes a line of progress to stderr, unless --quiet.
func (o *output) say(format string, args ...any) {
	if !o.quiet {
		fmt.Fprint(o.besideLive(), render.Inert(fmt.Sprintf(format+"\n", args...)))
	}
}

// now shows what is going on in the live line. Elsewhere than on a terminal it is dropped: say what matters.
func (o *output) now(format string, args ...any) {
	if !o.live || o.quiet {
		return
	}
	line := render.Inert(fmt.Sprintf(format, args...))
	if cut := []rune(line); len(cut) >= o.width {
		line = string(cut[:o.width-1])
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprint(o.stderr, "\r\x1b[K"+line)
	o.liveLine = true
}

// endLive removes the live line.
func (o *output) endLive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wipe()
}

func (o *output) wipe() {
	if o.liveLine {
		fmt.Fprint(o.stderr, "\r\x1b[K")
		o.liveLine = false
	}
}

// besideLive is stderr for whole lines that must not run into the live one.
func (o *output) besideLive() io.Writer { return beside{o} }

type beside struct{ *output }

func (b beside) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	return b.stderr.Write(p)
}

// failure says why the command failed.
func (o *output) failure(err error) {
	fmt.Fprintf(o.stderr, "longhaul: %s\n", strings.ReplaceAll(render.Inert(err.Error()), "\n", "\n  "))
}

// rows writes a table to stdout: columns as wide as their widest cell, two spaces between them.
func (o *output) rows(rows [][]string) { o.print("%s", render.Rows(rows)) }
