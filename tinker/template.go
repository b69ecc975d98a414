package tinker

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tokenizer"
)

// Template renders conversations as ChatML, with tools in the Hermes format: what Qwen 2.5 and 3, SmolLM2 and Hermes were
// trained on. A Tinker service takes token ids alone.
//
//	<|im_start|>user
//	where is order 48?<|im_end|>
//	<|im_start|>assistant
//	<tool_call>
//	{"name": "find_order", "arguments": {"order": "48"}}
//	</tool_call><|im_end|>
type Template struct {
	text       *tokenizer.Tokenizer
	start, end int32
}

// NewTemplate reads the tokenizer.json of a base model. Errors: Invalid, when its conversations are not ChatML.
func NewTemplate(file []byte) (*Template, error) {
	text, err := tokenizer.Decode(file)
	if err != nil {
		return nil, err
	}
	t := &Template{text: text}
	var start, end bool
	t.start, start = text.Special("<|im_start|>")
	t.end, end = text.Special("<|im_end|>")
	if !start || !end {
		return nil, rl.Errorf(rl.Invalid, "tokenizer.json", "it has no special tokens <|im_start|> and <|im_end|>: with a Tinker service, models whose conversations are ChatML can be trained (Qwen, SmolLM2)")
	}
	return t, nil
}

// message is one of a request, with the ids of the assistant's own words where they are known.
type message struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	ToolCalls []toolCall `json:"tool_calls"`
	TokenIDs  []int32    `json:"token_ids"`
}

type toolCall struct {
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

const (
	toolsBefore = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
	toolsAfter = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n" +
		"<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
)

// rendering is ids as they are added, up to the first error.
type rendering struct {
	*Template
	ids []int32
	err error
}

func (r *rendering) say(text string) {
	if r.err == nil {
		r.ids, r.err = r.text.Encode(r.ids, text)
	}
}

// turn is one message.
func (r *rendering) turn(role, content string) {
	r.ids = append(r.ids, r.start)
	r.say(role + "\n" + content)
	r.close()
}

func (r *rendering) close() {
	r.ids = append(r.ids, r.end)
	r.say("\n")
}

// prompt renders a conversation up to where the policy goes on. Ids that were sampled stay as they were.
func (t *Template) prompt(messages []message, tools []json.RawMessage) ([]int32, error) {
	r := &rendering{Template: t}
	if len(tools) > 0 {
		system := ""
		if len(messages) > 0 && messages[0].Role == "system" {
			system, messages = messages[0].Content+"\n\n", messages[1:]
		}
		r.turn("system", system+toolsBefore+lines(tools)+toolsAfter)
	}
	for i := 0; i < len(messages); i++ {
		switch m := messages[i]; {
		case m.Role == "assistant" && m.TokenIDs != nil:
			r.ids = append(r.ids, r.start)
			r.say("assistant\n")
			r.ids = append(r.ids, m.TokenIDs...)
			if len(m.TokenIDs) > 0 && m.TokenIDs[len(m.TokenIDs)-1] == t.end {
				r.say("\n")
			} else {
				r.close() // it was cut off
			}
		case m.Role == "assistant":
			r.turn(m.Role, m.Content+calls(m))
		case m.Role == "tool": // results in a row are one message
			results := ""
			for ; i < len(messages) && messages[i].Role == "tool"; i++ {
				results += "\n<tool_response>\n" + messages[i].Content + "\n</tool_response>"
			}
			i--
			r.turn("user", results[1:])
		case m.Role == "system" || m.Role == "user":
			r.turn(m.Role, m.Content)
		default:
			return nil, rl.Errorf(rl.Invalid, "messages", "messages[%d].role is %q: system, user, assistant or tool", i, m.Role)
		}
	}
	r.ids = append(r.ids, r.start)
	r.say("assistant\n")
	return r.ids, r.err
}

// lines are tools, one a line.
func lines(tools []json.RawMessage) string {
	var b bytes.Buffer
	for _, tool := range tools {
		b.WriteByte('\n')
		b.Write(tool)
	}
	return b.String()
}

// calls are an assistant's, as text.
func calls(m message) string {
	var b bytes.Buffer
	for i, c := range m.ToolCalls {
		if i > 0 || m.Content != "" {
			b.WriteByte('\n')
		}
		name, _ := json.Marshal(c.Function.Name)
		b.WriteString("<tool_call>\n{\"name\": " + string(name) + ", \"arguments\": " + c.Function.Arguments + "}\n</tool_call>")
	}
	return b.String()
}

// words are what sampled ids say, without the token that ends them.
func (t *Template) words(sampled []int32) string { return t.text.Text(sampled) }

// stop ends an action with the token that completes the first of some words, which the service does not look for, and is what it says
// up to there. What was sampled before is as likely as if the service had ended it.
func (t *Template) stop(a *sampled, words []string) string {
	n := sort.Search(len(a.Tokens), func(i int) bool { _, stopped := until(t.words(a.Tokens[:i+1]), words); return stopped })
	if n < len(a.Tokens) {
		a.Tokens, a.LogProbs, a.Stop = a.Tokens[:n+1], a.LogProbs[:n+1], "stop"
	}
	said, _ := until(t.words(a.Tokens), words)
	return said
}

// until is a text up to where the first of some words begins.
func until(text string, words []string) (before string, stopped bool) {
	for _, w := range words {
		if before, _, ok := strings.Cut(text, w); ok {
			text, stopped = before, true
		}
	}
	return text, stopped
}
