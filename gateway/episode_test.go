package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// opened is an episode without an agent: the tests are the agent.
type opened struct {
	*Episode
	t       testing.TB
	mu      sync.Mutex
	journal []rl.Recorded
}

func play(t testing.TB, policy *scripted, change func(*rollout.Options)) *opened {
	t.Helper()
	s, err := Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return playAt(t, s, policy, change)
}

func playAt(t testing.TB, s *Server, policy *scripted, change func(*rollout.Options)) *opened {
	t.Helper()
	o := rollout.Options{
		Episode: rl.EpisodeID{Run: "run", Update: 1, Task: "train-0"}, Task: rl.Task{ID: "train-0", Env: Kind, Split: rl.Train},
		Model: "run@000001", Version: "run@000001", Temperature: 1, MaxTokens: 64, MaxTurns: 100, Training: true, Seed: 7,
	}
	w := &opened{t: t}
	o.Record = func(_ context.Context, r rl.Recorded) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.journal = append(w.journal, r)
		return nil
	}
	if change != nil {
		change(&o)
	}
	var err error
	if w.Episode, err = s.open(t.Context(), t.Context(), policy.client(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// ended closes the episode and gives its record.
func (w *opened) ended() *rl.Trajectory {
	w.close()
	return w.trajectory(ended{stop: rl.Answered})
}

// post sends a request with the episode's key.
func (w *opened) post(page, body string, header ...string) (status int, answer string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.URL+page, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.Key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}

// says asks for a chat completion after some messages, each as JSON.
func (w *opened) says(messages ...string) chatAnswer {
	w.t.Helper()
	status, body := w.post("/chat/completions", `{"model":"m","messages":[`+strings.Join(messages, ",")+`]}`)
	var a chatAnswer
	if err := json.Unmarshal([]byte(body), &a); status != 200 || err != nil || len(a.Choices) != 1 {
		w.t.Fatalf("%d %s", status, body)
	}
	return a
}

func said(role, content string) string {
	return string(rl.CanonicalJSON(map[string]string{"role": role, "content": content}))
}

func spoken(content string) string { return said("assistant", content) }

// Sub-agents, and a conversation that is shortened, make histories of their own. Every sampled token is in one row.
func TestSeveralHistories(t *testing.T) {
	policy := &scripted{script: []string{spoken("one"), spoken("two"), spoken("three"), spoken("four")}}
	w := play(t, policy, nil)
	main := []string{said("system", "you lead"), said("user", "go")}
	w.says(main...)
	w.says(said("system", "you help"), said("user", "look")) // a sub-agent, between
	main = append(main, spoken("one"), said("user", "it says two"))
	w.says(main...)
	w.says(said("system", "you help"), said("user", "look"), spoken("one"), said("user", "closer"))
	w.says(append(main, spoken("two"), said("user", "this way"))...)
	w.says(append(main, spoken("two"), said("user", "or that way"))...) // from the same turn
	short := []string{said("system", "you lead"), said("user", "so far: all well"), spoken("two"), said("user", "go on")}
	w.says(short...)
	w.says(append(short, spoken("two"), said("user", "next"))...)
	got := w.ended()
	var shape []string
	for i, turn := range got.Turns {
		m := turn.Observation.Messages
		shape = append(shape, fmt.Sprintf("%d<%d %s", i, rl.Parent(got.Turns, i), m[len(m)-1].Content))
	}
	want := "0<-1 go, 1<0 it says two, 2<1 this way, 3<1 or that way, 4<-1 go on, 5<4 next, 6<-1 look, 7<6 closer"
	if is := strings.Join(shape, ", "); is != want {
		t.Errorf("%s, not\n%s", is, want)
	}
	var restored histories // knows again what was quoted
	if err := restored.restore(w.Episode.Episode, w.journal); err != nil || !reflect.DeepEqual(restored.turns[7].sequence(), w.told.turns[7].sequence()) || restored.turns[6].quotes[2].number != 2 {
		t.Errorf("%v, %v", restored.turns[6].quotes, err)
	}
	rows, why := got.Samples()
	if len(rows) != 4 || why != "" {
		t.Fatalf("%d rows (%s)", len(rows), why)
	}
	trained := 0
	for _, row := range rows {
		for _, is := range row.LossMask {
			if is {
				trained++
			}
		}
	}
	if trained != got.ActionTokens() {
		t.Errorf("%d tokens of %d are trained on", trained, got.ActionTokens())
	}
	// What the shortened conversation quotes is in the tokens that were sampled, not in others that say the same.
	if row := rows[2].Tokens; !strings.Contains(fmt.Sprint(row), strings.Trim(fmt.Sprint(got.Turns[1].Action.Tokens), "[]")) {
		t.Errorf("%v", row)
	}
}

// The same conversation by either API, in a stream or not, is the same record.
func TestEitherAPIIsTheSameRecord(t *testing.T) {
	tools := `{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}`
	flat := `{"type":"function","name":"look","description":"Looks.","parameters":{"type":"object"},"strict":true}`
	messages := []string{
		said("system", "work") + `,` + said("user", "go"),
		`{"role":"assistant","content":null,"tool_calls":[{"id":"z","type":"function","function":{"name":"look","arguments":"{\"at\": 1.0}"}}]},{"role":"tool","tool_call_id":"z","content":[{"type":"text","text":"seen"}]}`,
	}
	items := []string{
		`{"role":"user","content":[{"type":"input_text","text":"go"}]}`,
		`{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"z","name":"look","arguments":"{ \"at\":1 }"},{"type":"function_call_output","call_id":"z","output":"seen"}`,
	}
	var records []string
	for _, stream := range []string{"false", "true"} {
		for _, responses := range []bool{false, true} {
			policy := &scripted{script: []string{calls("", "look", `{"at":1}`), spoken("done")}}
			w := play(t, policy, nil)
			for n := 1; n <= 2; n++ {
				page, body := "/chat/completions", fmt.Sprintf(`{"model":"m","stream":%s,"tools":[%s],"messages":[%s]}`, stream, tools, strings.Join(messages[:n], ","))
				if responses {
					page, body = "/responses", fmt.Sprintf(`{"model":"m","stream":%s,"tools":[%s],"instructions":"work","input":[%s]}`, stream, flat, strings.Join(items[:n], ","))
				}
				if status, answer := w.post(page, body); status != 200 {
					t.Fatalf("%d %s", status, answer)
				}
			}
			got := w.ended()
			oneHistory(t, got)
			records = append(records, string(rl.CanonicalJSON(got)))
		}
	}
	for i, r := range records[1:] {
		// What the agent called its call is its own.
		if strings.ReplaceAll(r, `"tool_call_id":"z"`, "") != strings.ReplaceAll(records[0], `"tool_call_id":"z"`, "") {
			t.Errorf("record %d:\n%s\n%s", i+1, records[0], r)
		}
	}
}

// Items may be referred to, and a response may go on from another.
func TestReferences(t *testing.T) {
	policy := &scripted{script: []string{calls("look here", "look", `{"at":1}`, "look", `{"at":2}`), spoken("done"), spoken("more")}}
	w := play(t, policy, nil)
	type output struct {
		ID     string
		Output []struct{ ID, Type string }
	}
	ask := func(body string) (o output) {
		t.Helper()
		status, answer := w.post("/responses", body)
		if err := json.Unmarshal([]byte(answer), &o); status != 200 || err != nil {
			t.Fatalf("%d %s", status, answer)
		}
		return o
	}
	first := ask(`{"model":"m","input":"go"}`)
	if len(first.Output) != 3 {
		t.Fatalf("%+v", first)
	}
	refer := ""
	for _, it := range first.Output {
		refer += `{"type":"item_reference","id":"` + it.ID + `"},`
	}
	results := `{"type":"function_call_output","call_id":"a","output":"1"},{"type":"function_call_output","call_id":"b","output":"2"}`
	second := ask(`{"model":"m","input":[{"role":"user","content":"go"},` + refer + results + `]}`)
	ask(`{"model":"m","previous_response_id":"` + second.ID + `","input":"and?"}`)
	for body, code := range map[string]int{
		`{"model":"m","previous_response_id":"resp_x","input":"and?"}`:               404,
		`{"model":"m","input":[{"type":"item_reference","id":"msg_x"}]}`:             400,
		`{"model":"m","input":[{"type":"computer_call","id":"x"}]}`:                  400,
		`{"model":"m","tools":[{"type":"web_search"}],"input":"go"}`:                 400,
		`{"model":"m","input":[]}`:                                                   400,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_image"}]}]}`: 400,
	} {
		if status, answer := w.post("/responses", body); status != code || !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	got := w.ended()
	if len(got.Turns) != 3 {
		t.Errorf("%d turns", len(got.Turns))
	}
	oneHistory(t, got)
}

// An agent is told that its conversation is too long, and may shorten it: neither is a turn. After its last turn, or when the policy
// is away, it gets no answer at all: the connection breaks.
func TestEndsOfAnEpisode(t *testing.T) {
	policy := &scripted{script: []string{spoken("one")}, fail: func(n int) int { return []int{400, 0, 0, 503}[min(n, 3)] }}
	w := play(t, policy, func(o *rollout.Options) { o.MaxTurns = 2 })
	ask := func(words string) (int, string) {
		return w.post("/chat/completions", `{"model":"m","stream":true,"messages":[`+said("user", words)+`]}`)
	}
	full := func() bool { w.Episode.mu.Lock(); defer w.Episode.mu.Unlock(); return w.full }
	if status, answer := ask("much"); status != 400 || !strings.Contains(answer, `"context_length_exceeded"`) || !full() {
		t.Errorf("%d %s", status, answer)
	}
	for _, words := range []string{"little", "more"} {
		if status, answer := ask(words); status != 200 || !strings.HasSuffix(answer, "data: [DONE]\n\n") || full() {
			t.Errorf("%d %s", status, answer)
		}
	}
	status, answer := ask("a third")
	if <-w.over; status != 0 || w.stop != rl.MaxTurns {
		t.Errorf("%d %s, %s", status, answer, w.stop)
	}
	if got := w.ended(); len(got.Turns) != 2 {
		t.Errorf("%d turns", len(got.Turns))
	}
	away := play(t, policy, nil)
	status, answer = away.post("/responses", `{"model":"m","stream":true,"input":"go"}`)
	if <-away.over; status != 0 || rl.KindOf(away.err) != rl.Unavailable {
		t.Errorf("%d %s, %v", status, answer, away.err)
	}
}

// An agent's own limits count where they are below the run's. An answer ends before its stop words, of which the record has the tokens, and
// nothing after them.
func TestLimitsOfTheAgent(t *testing.T) {
	policy := &scripted{script: []string{spoken("one. Observation: two")}}
	w := play(t, policy, nil)
	status, answer := w.post("/chat/completions", `{"model":"m","max_tokens":5,"max_completion_tokens":9,"temperature":0,"stop":["Observation:"],"messages":[`+said("user", "go")+`]}`)
	if status != 200 || !strings.Contains(answer, `"content":"one. "`) || !strings.Contains(answer, `"finish_reason":"stop"`) {
		t.Errorf("%d %s", status, answer)
	}
	got := w.ended()
	if n := len(got.Turns[0].Action.Tokens); n != strings.Index(policy.script[0], " two") {
		t.Errorf("%d tokens", n)
	}
	if q := policy.last; q.MaxTokens != 5 || q.Temperature != 1 || !slices.Equal(q.Stop, []string{"Observation:"}) {
		t.Errorf("the policy was asked with %+v", q)
	}
}
