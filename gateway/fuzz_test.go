package gateway

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// seeds are what frameworks send, and what nobody should.
func seeds(f *testing.F, page string) {
	files, err := filepath.Glob("testdata/habits/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		var seen []exchange
		if err != nil || json.Unmarshal(b, &seen) != nil {
			f.Fatal(file, err)
		}
		if last := seen[len(seen)-1]; last.Path == page {
			f.Add([]byte(last.Request))
		}
	}
	for _, s := range []string{`{}`, `[]`, `null`, `{"messages":[{}]}`, `{"messages":[{"role":"user","content":[{"type":"text"}]}],"stop":["a",null]}`,
		`{"input":[{"type":"function_call","arguments":"{"},{"type":"item_reference","id":"_"}]}`, `{"input":"\ud800","tools":[{"type":"function","name":"f"}]}`} {
		f.Add([]byte(s))
	}
}

// checkQuestion holds what is made of a request to what the rest relies on.
func checkQuestion(t *testing.T, q question, f form, err error) {
	if err != nil {
		var no *refusal
		if !errors.As(err, &no) || no.status < 400 || no.status > 499 {
			t.Fatalf("%v is no refusal", err)
		}
		return
	}
	if len(q.messages) == 0 {
		t.Fatalf("%+v", q)
	}
	b, err := json.Marshal(q.messages)
	var back []rl.Message
	if err != nil || json.Unmarshal(b, &back) != nil || string(rl.CanonicalJSON(back)) != string(b) {
		t.Fatalf("what is recorded does not read as it was: %s, %v", b, err)
	}
	again := q
	if again.messages = back; again.hash(nil, 0) != q.hash(nil, 0) {
		t.Fatalf("the question is another one once it was recorded: %s", b)
	}
	h := histories{}
	h.add(h.turn(rl.Turn{Observation: rl.Observation{Messages: q.messages}, Action: rl.Action{Message: rl.Message{Role: rl.Assistant, Content: "yes"}}}, nil))
	if from, known := h.find(append(q.messages, rl.Message{Role: rl.Assistant, Content: "yes"})); from == nil || known != len(q.messages)+1 {
		t.Fatalf("the conversation does not go on from itself: %s", b)
	}
	if err := f.write(httptest.NewRecorder(), q, &ask{id: "1", turn: h.turns[0]}); err != nil {
		t.Fatal(err)
	}
}

func FuzzChat(f *testing.F) {
	seeds(f, "/chat/completions")
	f.Fuzz(func(t *testing.T, body []byte) {
		q, form, err := readChat(body)
		checkQuestion(t, q, form, err)
	})
}

type nothingGiven struct{}

func (nothingGiven) given(id string) *turn {
	if id == "" {
		return nil
	}
	return &turn{Turn: rl.Turn{Action: rl.Action{Message: rl.Message{Role: rl.Assistant, Content: id}}}}
}

func FuzzResponses(f *testing.F) {
	seeds(f, "/responses")
	f.Fuzz(func(t *testing.T, body []byte) {
		q, form, err := readResponses(body, nothingGiven{})
		checkQuestion(t, q, form, err)
	})
}

func FuzzToldCalls(f *testing.F) {
	f.Add("[{'function': {'name': 'f', 'arguments': {'a': \"it's\", 'b': [True, None, -1.5e3]}}}]")
	f.Add("[[[[")
	f.Fuzz(func(t *testing.T, list string) {
		if _, calls, ok := toldCalls(toldHeading + list); ok && calls == nil && list == "" {
			t.Fatal("calls of nothing")
		}
	})
}
