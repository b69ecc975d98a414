package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxFrame bounds one message of a server, in bytes.
const maxFrame = 16 << 20

// frames reads a server's stdout and passes messages on, one a line. The SDK gives a session up for good at the first line that is
// none, and servers, or what they call, print there: such a line is dropped, and told. Where it can be seen that it was
// to answer a request (a result with NaN in it, one of more than maxFrame bytes), an error takes its place, so that nobody waits for it.
type frames struct {
	in      *bufio.Reader
	closer  io.Closer
	dropped func(line []byte, why error)
	rest    []byte // of the message at hand
}

func newFrames(r io.ReadCloser, dropped func(line []byte, why error)) *frames {
	return &frames{in: bufio.NewReaderSize(r, 64<<10), closer: r, dropped: dropped}
}

func (f *frames) Close() error { return f.closer.Close() }

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, long, err := f.line()
		if len(line) > 0 {
			f.rest = f.frame(line, long)
		}
		if err != nil && len(f.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// line reads a line without its end. Of a long one only the first and the last bytes are kept.
func (f *frames) line() (line []byte, long bool, err error) {
	size := 0
	for {
		part, err := f.in.ReadSlice('\n')
		size += len(part)
		line = append(line, part...)
		if size > maxFrame {
			line, long = append(line[:kept:kept], line[max(kept, len(line)-kept):]...), true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), long, err
		}
	}
}

// kept is how much is kept of the beginning and of the end of a line that is too long, in bytes.
const kept = 1 << 10

// frame is what is passed on in place of a line; nothing when it is dropped.
func (f *frames) frame(line []byte, long bool) []byte {
	why := fmt.Errorf("it has more than %d bytes", maxFrame)
	if !long {
		message, err := jsonrpc.DecodeMessage(line)
		if err == nil && message != nil {
			return append(line, '\n')
		}
		why = err
	}
	f.dropped(line, why)
	id := answers(line)
	if id == nil {
		return nil
	}
	if long {
		return instead(id, tooLarge)
	}
	return instead(id, "the server's answer is not JSON")
}

var tooLarge = fmt.Sprintf("the result is too large: more than %d bytes", maxFrame)

// instead is an error as the answer to a request.
func instead(id []byte, said string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, jsonrpc.CodeParseError, said)
}

// The id of a response that cannot be read as a whole is where servers put it: before the result, or after it.
var (
	idFirst = regexp.MustCompile(`^\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*([0-9]{1,15})\s*,\s*"(?:result|error)"\s*:`)
	idLast  = regexp.MustCompile(`^\{\s*"(?:result|error)"\s*:[\s\S]*,\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*([0-9]{1,15})\s*\}$`)
)

// answers is the id of the request that a line seems to answer, or nil.
func answers(line []byte) []byte {
	for _, form := range []*regexp.Regexp{idFirst, idLast} {
		if m := form.FindSubmatch(line); m != nil {
			return m[1]
		}
	}
	return nil
}
