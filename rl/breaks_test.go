package rl

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// words makes token ids of text: tags, words, spaces and signs are one each.
type words map[string]int32

var word = regexp.MustCompile(`<[^<> ]+>|\[/?[A-Z_]+\]|\w+|\n+| +|[^\w\s]`)

func (w words) ids(text string) (ids []int32) {
	for _, s := range word.FindAllString(text, -1) {
		if _, ok := w[s]; !ok {
			w[s] = int32(len(w))
		}
		ids = append(ids, w[s])
	}
	return ids
}

// conversation is a trajectory of prompts and actions in turn, the actions with a call where the text has one.
func conversation(texts ...string) Trajectory {
	w := words{}
	var prompts, actions [][]int32
	for i := 0; i < len(texts); i += 2 {
		prompts, actions = append(prompts, w.ids(texts[i])), append(actions, w.ids(texts[i+1]))
	}
	t := played(prompts, actions)
	for i := range t.Turns {
		if regexp.MustCompile(`tool_call>|TOOL_CALLS|parameters`).MatchString(texts[2*i+1]) {
			t.Turns[i].Action.Message.ToolCalls = []ToolCall{{Name: "find", Arguments: json.RawMessage(`{}`)}}
		}
	}
	return t
}

// What the templates of models that people train do to the past, word for word.
func TestBreaks(t *testing.T) {
	const (
		asked = "<|im_start|>user\nwhere is order 48?<|im_end|>\n"
		ask   = asked + "<|im_start|>assistant\n"
		found = "\n<|im_start|>user\n<tool_response>\nC7\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
		more  = "\n<|im_start|>user\nand 49?<|im_end|>\n<|im_start|>assistant\n"
		call  = "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"order\": 48}}\n</tool_call><|im_end|>"
		think = "<think>\nit wants 48, so I look it up\n</think>\n\n"
		llama = "<|start_header_id|>user<|end_header_id|>\n\nwhere is 48?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
		ipy   = "<|start_header_id|>ipython<|end_header_id|>\n\nC7<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
		one   = `{"name": "find", "parameters": {"order": 48}}`
	)
	for name, c := range map[string]struct {
		texts []string
		want  []Break
	}{
		"a template that keeps what was said": {[]string{ask, think + call, ask + think + call + found, "in C7<|im_end|>"}, []Break{"", ""}},
		"Qwen3, a tool loop: reasoning stays, until the user speaks again": {[]string{
			ask, think + call, ask + think + call + found, think + "in C7<|im_end|>", ask + call + found + "in C7<|im_end|>" + more, call},
			[]Break{"", "", ReasoningStripped}},
		"Qwen3, an empty pair of tags in the place of what was thought": {[]string{
			ask, think + "in C7, I think, on the left<|im_end|>", ask + "<think>\n\n</think>\n\nin C7, I think, on the left<|im_end|>" + more, "x"},
			[]Break{"", ReasoningStripped}},
		"DeepSeek-R1 and QwQ: the prompt begins the thought": {[]string{
			ask + "<think>\n", "it wants 48\n</think>\n\nin C7<|im_end|>", ask + "in C7<|im_end|>" + more + "<think>\n", "x"},
			[]Break{"", ReasoningStripped}},
		"a server that parses reasoning out of a call": {[]string{ask, think + call, ask + call + found, "in C7<|im_end|>"}, []Break{"", ReasoningStripped}},
		"Hermes: arguments with other spaces": {[]string{
			ask, "<tool_call>\n{\"name\":\"find\",\"arguments\":{\"order\":48}}\n</tool_call><|im_end|>", ask + call + found, "in C7<|im_end|>"},
			[]Break{"", CallsRewritten}},
		"Qwen 2.5: a number that was a string": {[]string{
			ask, "<tool_call>\n{\"name\": \"find\", \"arguments\": \"{\\\"order\\\": 48}\"}\n</tool_call><|im_end|>", ask + call + found, "x"},
			[]Break{"", CallsRewritten}},
		"Llama 3.1: the parameters in another order, and spaces": {[]string{
			llama, `{"parameters": {"order": 48}, "name": "find"}<|eot_id|>`, llama + one + "<|eot_id|>" + ipy, "x"},
			[]Break{"", CallsRewritten}},
		"Llama 3.1: <|eom_id|> after a call": {[]string{llama, one + "<|eom_id|>", llama + one + "<|eot_id|>" + ipy, "x"}, []Break{"", EndReplaced}},
		"Mistral: calls get ids": {[]string{
			"[INST]where is 48?[/INST]", `[TOOL_CALLS][{"name": "find", "arguments": {"order": 48}}]</s>`,
			`[INST]where is 48?[/INST][TOOL_CALLS][{"name": "find", "arguments": {"order": 48}, "id": "a1b2c3d4e"}]</s>[TOOL_RESULTS]C7[/TOOL_RESULTS]`, "x"},
			[]Break{"", CallsRewritten}},
		"text is trimmed":              {[]string{ask, "  in C7  <|im_end|>", ask + "in C7<|im_end|>" + more, "x"}, []Break{"", TextRewritten}},
		"text is encoded otherwise":    {[]string{ask, "in C 7 left<|im_end|>", ask + "in C7 left<|im_end|>" + more, "x"}, []Break{"", TextRewritten}},
		"a date in the system message": {[]string{"<|im_start|>system\nIt is 23:59<|im_end|>\n" + ask, call, "<|im_start|>system\nIt is 00:00<|im_end|>\n" + ask + call + found, "x"}, []Break{"", HistoryRewritten}},
		"an agent that forgets": {[]string{ask, call, ask + call + found, "in C7<|im_end|>", asked + "<|im_start|>user\nearlier: 48 is in C7<|im_end|>\n<|im_start|>assistant\n", "x"},
			[]Break{"", "", HistoryRewritten}},
		"an agent's stop words": {[]string{ask, "Action: find 48 Observation:", ask + "Action: find 48 <|im_end|>" + more, "x"}, []Break{"", TextRewritten}},
		"every turn anew": {[]string{ask, think + call, ask + call + found, think + "in C7<|im_end|>", ask + call + found + "in C7<|im_end|>" + more, call},
			[]Break{"", ReasoningStripped, ReasoningStripped}},
	} {
		t.Run(name, func(t *testing.T) {
			trajectory := conversation(c.texts...)
			got := trajectory.Breaks()
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, not %q", got, c.want)
			}
			rows, why := trajectory.Samples()
			begun := 1
			for _, b := range c.want {
				if b != "" {
					begun++
				}
			}
			if why != "" || len(rows) != begun {
				t.Errorf("%d rows, %s", len(rows), why)
			}
		})
	}
}

// A row begins wherever there is a break, and nowhere else, whatever the prompts.
func TestBreaksAreWhereRowsBegin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trajectory := drawn(t)
		rows, _ := trajectory.Samples()
		begun := 1
		for _, b := range trajectory.Breaks() {
			if b != "" {
				begun++
			}
		}
		if len(rows) != begun {
			t.Fatalf("%d rows, breaks %q", len(rows), trajectory.Breaks())
		}
	})
	branched := played([][]int32{{1}, {1, 2, 3}, {1, 2, 5}, {9}, {1, 7}}, [][]int32{{2}, {4}, {6}, {8}, {2}})
	zero, none := 0, -1
	branched.Turns[2].From, branched.Turns[2].Action.Kept, branched.Turns[2].Action.Prompt = &zero, 2, []int32{5}
	branched.Turns[3].From, branched.Turns[3].Action.Kept, branched.Turns[3].Action.Prompt = &none, 0, []int32{9}
	branched.Turns[4].From, branched.Turns[4].Action.Kept, branched.Turns[4].Action.Prompt = &zero, 1, []int32{7}
	if got, want := branched.Breaks(), []Break{"", "", Branched, Branched, EndReplaced}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if rows, why := branched.Samples(); len(rows) != 4 || why != "" {
		t.Errorf("%d rows, %s", len(rows), why)
	}
	bad := played([][]int32{{1}, {1, 2, 3}}, [][]int32{{2}, {4}})
	bad.Turns[1].Action.Kept = 9
	if got := bad.Breaks(); got != nil {
		t.Errorf("of a damaged record: %q", got)
	}
}
