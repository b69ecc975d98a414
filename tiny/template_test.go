package tiny

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

const deskTools = `[
 {"type":"function","function":{"name":"find_order","parameters":{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}}},
 {"type":"function","function":{"name":"track_box","parameters":{"type":"object","properties":{"box":{"type":"string"}}}}},
 {"type":"function","function":{"name":"answer","parameters":{"type":"object","properties":{"place":{"type":"string"}}}}},
 {"type":"function","function":{"name":"move","parameters":{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"},"what":{"type":"string"}}}}},
 {"type":"function","function":{"name":"stop_all","parameters":{"type":"object","properties":{}}}},
 {"type":"function","function":{"name":"bare"}}]`

func desk(t testing.TB) toolbox {
	box, err := readWireTools(json.RawMessage(deskTools))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestTokens(t *testing.T) {
	if Vocab != firstPiece+len(pieces) {
		t.Fatalf("Vocab is %d, there are %d pieces", Vocab, len(pieces))
	}
	id := func(p string) int32 { return int32(firstPiece + slices.Index(pieces, p)) }
	for s, want := range map[string][]int32{
		"":                      nil,
		"where is order 48?":    {id("where is order "), id("48"), '?'},
		"48 in box C7, fragile": {id("48"), id(" in box "), id("C7"), id(", fragile")},
		"find 123":              {id("find "), id("12"), '3'},
		"Z9 Oslo":               {id("Z9"), ' ', 'O', 's', 'l', 'o'},
		"é<|end|>":              {0xc3, 0xa9, '<', '|', 'e', 'n', 'd', '|', '>'},
	} {
		if got := appendText(nil, s); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	if s := text([]int32{tokenBegin, 'a', -1, Vocab, tokenEnd, id("busy")}); s != "abusy" {
		t.Errorf("%q", s)
	}
}

// Decoding gives the text back, and no token could have been longer.
func TestTokensAreGreedy(t *testing.T) {
	words := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 3, -1), rapid.SampledFrom([]string{" ", "A", "1", "f", "\xff"})))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(words.Draw(t, "words"), "")
		at := 0
		for _, id := range appendText(nil, s) {
			n := len(text([]int32{id}))
			for _, p := range pieces {
				if len(p) > n && strings.HasPrefix(s[at:], p) {
					t.Fatalf("%q at %d: token %d, but %q fits", s, at, id, p)
				}
			}
			at += n
		}
		if at != len(s) || text(appendText(nil, s)) != s {
			t.Fatalf("%q", s)
		}
	})
}

// spell is token ids as text, special tokens as their names.
func spell(ids []int32) (s string) {
	for _, id := range ids {
		if id >= tokenBegin && id < firstPiece {
			s += specials[id-tokenBegin]
		} else {
			s += text([]int32{id})
		}
	}
	return s
}

func TestTemplate(t *testing.T) {
	q, err := new(boxes).parseRequest([]byte(`{"model":"a@1","messages":[
		{"role":"system","content":"left out"},
		{"role":"user","content":[{"type":"text","text":"where is "},{"type":"text","text":"order 48?"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"find_order","arguments":"{\"order\": \"48\"}"}}]},
		{"role":"tool","tool_call_id":"x","content":"48 in box C7"},
		{"role":"assistant","content":"both:","tool_calls":[
			{"function":{"name":"move","arguments":"{\"what\":\"a b\",\"n\":3,\"to\":\"Oslo 7\"}"}},
			{"function":{"name":"stop_all","arguments":"{}"}},
			{"function":{"name":"unknown_tool","arguments":"{\"a\":\"b\"}"}},
			{"function":{"name":"find_order","arguments":"{\"order\":48}"}},
			{"function":{"name":"find_order","arguments":"no JSON"}}]},
		{"role":"tool","content":""},
		{"role":"assistant","content":"cut off","token_ids":[97,98]},
		{"role":"user","content":"<|end|>"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := q.prompt(desk(t))
	if err != nil {
		t.Fatal(err)
	}
	want := "<|begin|><|user|>where is order 48?<|end|><|assistant|>find 48<|end|><|tool|>48 in box C7<|end|>" +
		"<|assistant|>both:\nmove Oslo 7 a b\nstop\nunknown\nfind 48\nfind<|end|><|tool|><|end|><|assistant|>ab<|user|><|end|><|end|><|assistant|>"
	if got := spell(ids); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if n := len(ids); ids[n-2] != tokenEnd || ids[n-3] != '>' {
		t.Error("a message's text was read as a special token")
	}
}

func TestSampledMessage(t *testing.T) {
	call := func(name, args string) rl.ToolCall {
		return rl.ToolCall{Name: name, Arguments: json.RawMessage(args)}
	}
	for s, want := range map[string][]rl.ToolCall{
		"find 48":           {call("find_order", `{"order":"48"}`)},
		" find  48 ":        {call("find_order", `{"order":"48"}`)},
		"answer Oslo 7":     {call("answer", `{"place":"Oslo 7"}`)},
		`answer "<é>"`:      {call("answer", `{"place":"\"\u003cé\u003e\""}`)},
		"find":              {call("find_order", `{}`)},
		"move Oslo a b":     {call("move", `{"to":"Oslo","what":"a b"}`)},
		"move Oslo":         {call("move", `{"to":"Oslo"}`)},
		"stop":              {call("stop_all", `{}`)},
		"bare":              {call("bare", `{}`)},
		"find 48\ntrack C7": {call("find_order", `{"order":"48"}`), call("track_box", `{"box":"C7"}`)},
		"find 48\nand then": nil,
		"stop now":          nil,
		"find_order 48":     nil,
		"hello":             nil,
		"":                  nil,
		"inspect C7":        nil,
	} {
		m := desk(t).message(append(appendText(nil, s), tokenEnd))
		if !reflect.DeepEqual(m.ToolCalls, want) {
			t.Errorf("%q: %+v", s, m)
		}
		if want == nil && m.Content != s || want != nil && m.Content != "" {
			t.Errorf("%q: content %q", s, m.Content)
		}
	}
	if m := toolbox(nil).message(appendText(nil, "find 48")); m.Content != "find 48" || m.ToolCalls != nil {
		t.Errorf("without tools: %+v", m)
	}
}

// What a call renders as reads back as the same call.
func TestCallsReadBack(t *testing.T) {
	box := desk(t)
	word := rapid.StringMatching(`[^\s]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		given := box[rapid.IntRange(0, len(box)-1).Draw(t, "tool")]
		object := map[string]string{}
		for _, name := range given.arguments {
			object[name] = strings.ToValidUTF8(word.Draw(t, name), "x")
			if strings.TrimSpace(object[name]) != object[name] || strings.ContainsAny(object[name], " \n") {
				object[name] = "x"
			}
		}
		args, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		want := rl.ToolCall{Name: given.name, Arguments: args}
		got, ok := box.call(box.line(want))
		var back map[string]string
		if !ok || got.Name != want.Name || json.Unmarshal(got.Arguments, &back) != nil || !reflect.DeepEqual(back, object) {
			t.Fatalf("%s: %+v %s", box.line(want), got, got.Arguments)
		}
	})
}

func TestDemonstration(t *testing.T) {
	call := func(tool, arg, value string) rl.Message {
		return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{Name: tool, Arguments: json.RawMessage(`{"` + arg + `":"` + value + `"}`)}}}
	}
	parameters := func(name string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"` + name + `":{"type":"string"}}}`)
	}
	e := EncodeDemonstration(rl.Demonstration{
		Messages: []rl.Message{{Role: rl.System, Content: "s"}, {Role: rl.User, Content: "where is order 48?"},
			call("find_order", "order", "11"), {Role: rl.ToolRole, Content: "none"}, call("answer", "place", "Oslo 7")},
		Imitate: []bool{false, true, false, false, true},
	}, []rl.Tool{{Name: "find_order", Parameters: parameters("order")}, {Name: "answer", Parameters: parameters("place")}})
	if s := spell(e.Tokens); s != "<|begin|><|user|>where is order 48?<|end|><|assistant|>find 11<|end|><|tool|>none<|end|><|assistant|>answer Oslo 7<|end|>" {
		t.Error(s)
	}
	var learnt []int32
	for i, m := range e.LossMask {
		if m {
			learnt = append(learnt, e.Tokens[i])
		}
	}
	if s := spell(learnt); s != "answer Oslo 7<|end|>" || !e.SFT || len(e.LossMask) != len(e.Tokens) {
		t.Error(s, len(e.LossMask), len(e.Tokens))
	}
}

// A request as the policy client sends it is read quickly once its tools are known; a word out of place is left to
// encoding/json.
func TestQuickRequest(t *testing.T) {
	const plain = `{"temperature":0.5,"max_tokens":8,"return_token_ids":true,"tools":` + deskTools + `,"model":"a@1","messages":[` +
		`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"find_order","arguments":"{\"order\":\"48\"}"}}],"token_ids":[102,260]},` +
		`{"role":"tool","content":"48 in box C7","tool_call_id":"c"}],"stream":false,"seed":7,"logprobs":true}`
	var b boxes
	if _, ok := b.quickRequest([]byte(plain)); ok {
		t.Error("tools that nobody has read are taken")
	}
	if _, err := b.get(json.RawMessage(deskTools)); err != nil {
		t.Fatal(err)
	}
	quick, ok := b.quickRequest([]byte(plain))
	if want, err := decodeRequest([]byte(plain)); err != nil || !ok || !reflect.DeepEqual(quick, want) {
		t.Errorf("%v %+v\nwant %+v %v", ok, quick, want, err)
	}
	for _, change := range [][2]string{
		{`"seed":7`, `"seed":7.0`}, {`"seed":7`, `"seed":07`}, {`"seed":7`, `"seed":9223372036854775808`}, {`"seed":7`, `"Seed":7`},
		{`"seed":7`, `"seed":7,"seed":7`}, {`"seed":7`, `"seed":null`}, {`"seed":7`, `"seed":7,"stop":["x"]`}, {`"seed":7,`, `"seed":7`},
		{`[102,260]`, `[102,260,]`}, {`[102,260]`, `[2147483648]`}, {`true}`, `true}}`}, {`true}`, `true`}, {`C7"`, `C7`}, {`C7"`, `C7\x"`},
		{`0.5`, `.5`}, {`0.5`, `0.`}, {`0.5`, `0.5e`}, {`0.5`, `00.5`}, {`0.5`, `"0.5"`}, {`48 in`, "48\tin"}, {`{"role":"tool"`, ` {"role":"tool"`},
	} {
		if text := strings.Replace(plain, change[0], change[1], 1); text == plain {
			t.Error(change[0], "is not there")
		} else if q, ok := b.quickRequest([]byte(text)); ok {
			t.Errorf("%s in the place of %s is taken: %+v", change[1], change[0], q)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"model":"a@1","messages":[{"role":"user","content":"x"}],"tools":` + deskTools + `}`))
	f.Add([]byte(`{"model":"a@1","messages":[{"role":"assistant","content":[{"type":"text","text":"x"}],"tool_calls":[{"function":{"name":"find_order","arguments":"{\"order\":1}"}}],"token_ids":[1]}]}`))
	f.Add([]byte(`{"model":"a@1","messages":[{"role":"tool"}],"tools":[{"type":"function","function":{"name":"_","parameters":{"properties":{"a":{"type":"string"}}}}}],"stop":["x"],"max_tokens":0}`))
	f.Add([]byte(`{"temperature":1e0,"max_tokens":8,"return_token_ids":true,"tools":` + deskTools + `,"model":"a@1","messages":[{"role":"system","content":"a \\"b\\" \\u003cé"},` +
		`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"order\\":\\"48\\"}"}}],"token_ids":[-1,300]},{"role":"tool","content":"","tool_call_id":"c"}],"stream":false,"seed":9223372036854775807,"logprobs":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b boxes
		if _, err := b.get(json.RawMessage(deskTools)); err != nil {
			t.Fatal(err)
		}
		if quick, ok := b.quickRequest(body); ok {
			if q, err := decodeRequest(body); err != nil || !reflect.DeepEqual(q, quick) {
				t.Fatalf("read quickly as %+v\nby encoding/json as %+v, %v", quick, q, err)
			}
		}
		q, err := b.parseRequest(body)
		if err != nil {
			return
		}
		box, err := readWireTools(q.Tools)
		if err != nil {
			return
		}
		ids, err := q.prompt(box)
		if err != nil {
			return
		}
		for _, id := range ids {
			if id < 0 || id >= Vocab {
				t.Fatal(id)
			}
		}
		// Any text the policy could say is read without harm, and makes valid JSON.
		for _, c := range box.message(ids).ToolCalls {
			if !json.Valid(c.Arguments) || !utf8.Valid(c.Arguments) {
				t.Fatalf("%q", c.Arguments)
			}
		}
	})
}
