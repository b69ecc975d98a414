package tiny

import (
	"fmt"
	"net/http"
	"unicode/utf8"
)

// stream answers as server-sent events: a chunk with the role (and the prompt's token ids), a chunk per token, one
// with the reason to finish, and [DONE]. With tools, the text waits for the last chunk: only then is it known
// whether it is a call. An answer that breaks off says so in an event and ends by aborting the connection, never in
// a plain end that would look whole.
func (s *Server) stream(w http.ResponseWriter, a *answer) {
	j := a.job
	j.tokens = make(chan sampled, j.most)
	if !s.queue.put(j) {
		failureOf(errClosed, a.Model).write(w)
		return
	}
	defer s.queue.drop(j)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	e := events{w: w, control: http.NewResponseController(w), a: a}
	e.first()
	for {
		select {
		case t, more := <-j.tokens:
			if more {
				e.token(t)
				continue
			}
			if j.err != nil {
				e.send(failureOf(j.err, a.Model).json())
				panic(http.ErrAbortHandler)
			}
			e.last()
			return
		case <-j.ctx.Done(): // nobody reads any more
			panic(http.ErrAbortHandler)
		}
	}
}

// events writes the chunks of one answer.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	a       *answer
	held    string // bytes of a character that is not complete yet
}

func (e *events) send(data []byte) {
	fmt.Fprintf(e.w, "data: %s\n\n", data)
	e.control.Flush() // an error here is the client's going away, which ends the job
}

// chunk opens an event up to its delta's members.
func (e *events) chunk() []byte {
	b := e.a.appendHead(nil, "chat.completion.chunk")
	return append(b, `,"choices":[{"index":0,"delta":{`...)
}

func (e *events) first() {
	b := e.a.appendHead(nil, "chat.completion.chunk")
	if e.a.ReturnTokenIDs {
		b = appendIDs(append(b, `,"prompt_token_ids":`...), e.a.job.prompt)
	}
	e.send(append(b, `,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`...))
}

func (e *events) token(t sampled) {
	ids := []int32{t.id}
	say := ""
	if len(e.a.box) == 0 {
		say = e.complete(text(ids))
	}
	if say == "" && !e.a.ReturnTokenIDs && !e.a.LogProbs {
		return
	}
	b := append(append(e.chunk(), `"content":`...), quoted(say)...)
	b = append(b, '}')
	if e.a.ReturnTokenIDs {
		b = appendIDs(append(b, `,"token_ids":`...), ids)
	}
	b = e.a.appendLogProbs(b, ids, []float32{t.logProb})
	e.send(append(b, `,"finish_reason":null}]}`...))
}

// complete adds s to the text and gives what of it ends with a whole character.
func (e *events) complete(s string) string {
	s = e.held + s
	n := len(s)
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				n -= i
			}
			break
		}
	}
	e.held = s[n:]
	return s[:n]
}

func (e *events) last() {
	m := e.a.message()
	b := e.chunk()
	switch {
	case m.ToolCalls != nil:
		b = e.a.appendCalls(b, m.ToolCalls)
	case len(e.a.box) > 0:
		b = append(append(b, `"content":`...), quoted(m.Content)...)
	case e.held != "":
		b = append(append(b, `"content":`...), quoted(e.held)...)
	}
	b = append(append(b, `},"logprobs":null,"finish_reason":`...), quoted(e.a.finishReason(m))...)
	e.send(append(b, "}]}"...))
	if e.a.StreamOptions.IncludeUsage {
		b := append(e.a.appendHead(nil, "chat.completion.chunk"), `,"choices":[]`...)
		e.send(append(e.a.appendUsage(b), '}'))
	}
	e.send([]byte("[DONE]"))
}
