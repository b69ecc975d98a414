package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/rl"
)

// ErrContextLimit says that the conversation does not fit the model's context.
var ErrContextLimit = errors.New("context limit")

// ErrConversation says that the server refuses this one conversation: asking again gives the same, asking others need not.
var ErrConversation = errors.New("the server refuses this conversation")

// ErrKey says that the server does not take the key, or wants one.
var ErrKey = errors.New("the key is not taken")

// ErrBusy says that the server has too much to do (429).
var ErrBusy = errors.New("the server is busy")

// ErrNoModel says that the server does not know the model that was asked for.
var ErrNoModel = errors.New("no such model")

// ErrNoReply says that a server that was reached did not reply before the deadline.
var ErrNoReply = errors.New("no reply before the deadline")

// ErrUnserved says that the request was certainly not served: the server was not reached, or answered that it would not or could
// not do it. Nothing is paid for. Without it nobody knows: an answer may be lost that was given.
var ErrUnserved = errors.New("not served")

// marked is an error that is one of these, too, and says no more for it.
type marked struct {
	error
	mark error
}

func (m marked) Is(target error) bool { return target == m.mark }
func (m marked) Unwrap() error        { return m.error }

// Unserved marks the error of a request that was never sent.
func Unserved(err error) error { return marked{err, ErrUnserved} }

// Status is an answer with another status than 2xx, and the server's words.
type Status struct {
	Code int
	Say  string
}

func (s *Status) Error() string {
	return fmt.Sprintf("%d %s: %s", s.Code, http.StatusText(s.Code), s.Say)
}

// maxWords bounds what is kept of a server's own words, in bytes.
const maxWords = 2000

// maxWait bounds a server's wish to be left alone.
const maxWait = 24 * time.Hour

// statusError is the error of an answer with another status than 2xx.
func (s Server) statusError(status int, h http.Header, body []byte) *rl.Error {
	say, code := words(body)
	say = Shorten(s.Hide(say))
	e := &rl.Error{Kind: rl.Refused, At: s.At, Err: &Status{status, say}}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Err = marked{e.Err, ErrKey}
	case status >= 500, status == 408, status == 409, status == 425, status == 429:
		e.Kind, e.RetryAfter = rl.Unavailable, retryAfter(h.Get("Retry-After"), time.Now())
		if status == 429 {
			e.Err = marked{e.Err, ErrBusy}
		}
	case status == 404 && everybody.MatchString(code+" "+say):
		e.Err = marked{e.Err, ErrNoModel}
	case (status == 400 || status == 413) && contextLimit(code, say):
		e.Err = fmt.Errorf("%w: %s", ErrContextLimit, say)
	case (status == 400 || status == 413 || status == 422) && !everybody.MatchString(code+" "+say):
		e.Err = fmt.Errorf("%w: %w", ErrConversation, e.Err)
	}
	if !lost[status] {
		e.Err = Unserved(e.Err)
	}
	return e
}

// Hide is what a server said, without the key, which some servers repeat.
func (s Server) Hide(words string) string {
	if len(s.Secret) < leastSecret {
		return words
	}
	return strings.ReplaceAll(words, s.Secret, "[key]")
}

// leastSecret is the length of the shortest key that is one, in bytes: servers that need none are given "EMPTY" or "x", and texts may
// hold that by themselves.
const leastSecret = 8

// lost are the answers of go-betweens that do not know what became of a request, or gave up on it: it may have been served.
var lost = map[int]bool{408: true, 409: true, 502: true, 504: true, 520: true, 522: true, 524: true}

// everybody knows a 400 that every conversation will get, since it is about the key, the model or a parameter. Servers
// have no common code for these, and may quote the conversation, so whole phrases are looked for.
var everybody = regexp.MustCompile(`(?i)api.?key|authenticat|authori[sz]|billing|quota|model_not_found|` +
	`(no such|unknown|invalid|unsupported) model|\bmodel\b.{0,100}(not found|not exist|not support|not available)|` +
	`unsupported (parameter|value)|unrecognized (request )?(argument|parameter)|` +
	`tool choice requires|greater than max_model_len`) // vLLM's: a flag is missing, sampling.max_tokens is too large for any prompt

// contextLimit knows OpenAI's and the embedded server's code, llama.cpp's type, and the wording of vLLM and SGLang.
func contextLimit(code, say string) bool {
	say = strings.ToLower(say)
	return code == "context_length_exceeded" || code == "exceed_context_size_error" ||
		strings.Contains(say, "context length") || strings.Contains(say, "context size")
}

// errorBody is what servers put into a failed answer: {"error":{"message","code"}}, {"error":"..."}, {"message"},
// {"detail"}.
type errorBody struct {
	Error, Message, Detail, Code, Type json.RawMessage
}

// words finds the message and the code (or type) in a failed answer; without a message it is the body itself.
func words(body []byte) (say, code string) {
	var e, inner errorBody
	say = strings.ToValidUTF8(string(bytes.TrimSpace(body)), "\uFFFD")
	if json.Unmarshal(body, &e) != nil {
		return say, ""
	}
	if json.Unmarshal(e.Error, &inner) == nil {
		e = inner
	}
	for _, m := range []json.RawMessage{e.Message, e.Error, e.Detail} {
		var s string
		if json.Unmarshal(m, &s) == nil && s != "" {
			say = s
			break
		}
	}
	if json.Unmarshal(e.Code, &code) != nil || code == "" {
		json.Unmarshal(e.Type, &code)
	}
	return say, code
}

// Shorten cuts a server's words to what is kept of them, and says so.
func Shorten(s string) string {
	if len(s) <= maxWords {
		return s
	}
	n := maxWords
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s... (%d bytes more)", s[:n], len(s)-n)
}

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(v string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 { // NaN is not
		return time.Duration(min(s, maxWait.Seconds()) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(0, t.Sub(now)), maxWait)
	}
	return 0
}

// Failure names the boundary of an error that go-openai returned. It is an *rl.Error, of kind Unavailable where none was named
// on the way, save for a reply of another form (Mistyped); ErrNoReply is among its causes when a server that was reached did not
// reply in time.
func (s Server) Failure(err error) error {
	if rl.KindOf(err) != "" {
		return err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its text holds the whole URL
	}
	if e := s.Mistyped(err); e != nil {
		return e
	}
	syntax, wrong := errors.AsType[*json.SyntaxError](err)
	_, misfit := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case wrong && syntax.Error() == "unexpected end of JSON input", err == io.ErrUnexpectedEOF:
		return rl.Errorf(rl.Unavailable, s.At, "half a reply: %w", err)
	case wrong, misfit:
		return s.Nonsense(err)
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnserved):
		return rl.Errorf(rl.Unavailable, s.At, "%w: %w", ErrNoReply, err)
	}
	return rl.Errorf(rl.Unavailable, s.At, "%w", err)
}

// Mistyped is the error of a reply in which a field is of another type than the API's, Refused: the server speaks another API, and
// would be paid for each further reply like that. Nil for any other error, that of a number that is out of range and of a reply
// that is not an object among them: the next one may be well.
func (s Server) Mistyped(err error) error {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || e.Field == "" || strings.HasPrefix(e.Value, "number ") {
		return nil
	}
	return rl.Errorf(rl.Refused, s.At, "the reply is not what the API promises: its %s is of type %s", e.Field, e.Value)
}

// Nonsense is the error of a reply that is not one, or contradicts itself. It need not be the server's: a proxy's page
// says "try again" with a 200, too.
func (s Server) Nonsense(err error) error {
	return rl.Errorf(rl.Unavailable, s.At, "the reply is not what the API promises: %w", err)
}
