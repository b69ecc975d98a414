package envs

import (
	"encoding/json"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func seat(parameters string) Tool {
	return Tool{Tool: rl.Tool{Name: "seat", Parameters: json.RawMessage(parameters)}}
}

const strict = `{"type":"object","properties":{"row":{"type":"integer"},"letter":{"type":"string"},"note":{"type":["string","null"]},"any":{}},
	"required":["row","letter"],"additionalProperties":false}`

func TestCheckSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ schema, arguments, want string }{
		{strict, `{"row":7,"letter":"A"}`, ""},
		{strict, ` {"row":12345678901234567890,"letter":"A","note":null,"any":[1]}`, ""},
		{strict, `{"row":7.0,"letter":"A"}`, ""},
		{strict, `{"row":7.5,"letter":"A"}`, `"row" of seat must be integer, not number`},
		{strict, `{"row":7e1,"letter":"A"}`, `"row" of seat must be integer, not number`},
		{strict, `{"letter":"A"}`, `seat needs "row"`},
		{strict, `{}`, `seat needs "row"`},
		{strict, `{"row":7,"letter":5}`, `"letter" of seat must be string, not number`},
		{strict, `{"row":7,"letter":"A","note":true}`, `"note" of seat must be string or null, not boolean`},
		{strict, `{"row":7,"letter":"A","b":1,"a":1}`, `seat takes no "a"`},
		{strict, `"row 7"`, "the arguments of seat must be an object, not string"},
		{strict, `[7,"A"]`, "the arguments of seat must be an object, not array"},
		{strict, `null`, "the arguments of seat must be an object, not null"},
		{strict, ``, "the arguments of seat must be an object, not nothing"},
		{strict, `{"row":7,`, "the arguments of seat are not JSON"},
		{`{"type":"object"}`, `{"what":"ever"}`, ""},
		{`true`, `5`, ""},
	} {
		if got := seat(c.schema).Check(json.RawMessage(c.arguments)); got != c.want {
			t.Errorf("%s: %q, not %q", c.arguments, got, c.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, arguments := range []string{`{"row":7,"letter":"A"}`, `"7A"`, `{"row":`, `{"row":1e999,"letter":""}`, "", "\x00", `{"row":1,"row":"1"}`} {
		f.Add(strict, arguments)
	}
	f.Add(`{"properties":{"a":{"type":[["string"]]}},"additionalProperties":{}}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, parameters, arguments string) {
		tool := seat(parameters)
		wrong := tool.Check(json.RawMessage(arguments))
		if again := tool.Check(json.RawMessage(arguments)); again != wrong {
			t.Errorf("%q, then %q", wrong, again)
		}
		if parameters == strict && wrong == "" {
			var seat struct {
				Row    json.Number
				Letter string
			}
			if err := json.Unmarshal([]byte(arguments), &seat); err != nil {
				t.Errorf("%q passed, but %v", arguments, err)
			}
		}
	})
}
