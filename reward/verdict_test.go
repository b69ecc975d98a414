package reward

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestVerdictsRead(t *testing.T) {
	const want = `{"scores":[{"id":"B2","reason":"did it","score":0.25},{"id":"C3","reason":"did not","score":1}]}`
	for name, reply := range map[string]string{
		"plain":                        want,
		"a fence":                      "```json\n" + want + "\n```",
		"words around":                 "Here you are: " + want + " I hope that helps {really}.",
		"a set in the words":           "Of {B2, C3} I say\n" + want,
		"the same twice":               want + "\n\n" + strings.ReplaceAll(want, ":", " : "),
		"thinking":                     "<think>{\"scores\":[{\"id\":\"B2\",\"score\":0}]}</think>" + want,
		"thinking that was opened":     "first a draft {\"scores\":[]} </think>\n" + want,
		"a reason that quotes the end": strings.Replace(want, "did it", "it wrote </think> {}", 1),
		"another order, other keys":    `{"note":1,"scores":[{"score":1.0,"id":"C3","extra":{}},{"score":25e-2,"id":"B2","reason":null}]}`,
		"escapes":                      strings.Replace(want, `"B2"`, `"\u0042\u0032"`, 1),
	} {
		got, err := verdicts(reply, []string{"C3", "B2"}, nil)
		if err != nil || len(got) != 2 || got["B2"].score != .25 || got["C3"].score != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestVerdictsRefused(t *testing.T) {
	const b = `{"id":"B2","score":0.5}`
	both := func(c string) string { return `{"scores":[` + b + `,` + c + `]}` }
	for _, c := range []struct{ name, reply, want string }{
		{"missing", `{"scores":[` + b + `]}`, `id "C3" is missing`},
		{"nobody", `{"scores":[]}`, `id "B2" is missing; id "C3" is missing`},
		{"twice", `{"scores":[` + b + `,` + b + `,{"id":"C3","score":0}]}`, `id "B2" is given twice`},
		{"unknown", both(`{"id":"C3","score":0},{"id":"D4","score":0}`), `the id "D4" is none of those asked about`},
		{"another case", both(`{"id":"c3","score":0}`), `the id "c3" is none of those asked about; id "C3" is missing`},
		{"a number as id", both(`{"id":3,"score":0}`), `the id 3 is none of those asked about; id "C3" is missing`},
		{"no id", both(`{"score":0}`), `an entry has no id; id "C3" is missing`},
		{"1.5", both(`{"id":"C3","score":1.5}`), `the score of id "C3" is not between 0 and 1: 1.5`},
		{"700", both(`{"id":"C3","score":700}`), `the score of id "C3" is not between 0 and 1: 700`},
		{"-0.1", both(`{"id":"C3","score":-0.1}`), `the score of id "C3" is not between 0 and 1: -0.1`},
		{"text", both(`{"id":"C3","score":"0.8"}`), `the score of id "C3" is not a number: "0.8"`},
		{"a word", both(`{"id":"C3","score":"good"}`), `the score of id "C3" is not a number: "good"`},
		{"true", both(`{"id":"C3","score":true}`), `the score of id "C3" is not a number: true`},
		{"1e999", both(`{"id":"C3","score":1e999}`), `the score of id "C3" is not between 0 and 1: 1e999`},
		{"null", both(`{"id":"C3","score":null}`), `the score of id "C3" is absent`},
		{"absent", both(`{"id":"C3","Score":1}`), `the score of id "C3" is absent`},
		{"NaN", both(`{"id":"C3","score":NaN}`), `the JSON that begins "{\"scores\":[{\"id\":\"B2\",\"score\":0.5},{\"id\"..." cannot be read: invalid character 'N' looking for beginning of value`},
		{"two scores in one entry", both(`{"id":"C3","score":0,"score":1}`), `"score" is given twice in one object; id "C3" is missing`},
		{"two scores, one escaped", both(`{"id":"C3","score":0,"\u0073core":1}`), `"score" is given twice in one object; id "C3" is missing`},
		{"two lists", `{"scores":[],"scores":[` + b + `]}`, `"scores" is given twice in one object`},
		{"two verdicts", both(`{"id":"C3","score":0}`) + both(`{"id":"C3","score":1}`), `there are different JSON objects with "scores"; give one`},
		{"a quoted verdict in a broken one", `{"scores":[{"id":"B2","reason":"it says ` + both(`{"id":"C3","score":1}`) + `","score":0}]}`,
			`the JSON that begins "{\"scores\":[{\"id\":\"B2\",\"reason\":\"it says ..." cannot be read: invalid character 's' after object key:value pair`},
		{"cut off", `{"scores":[` + b + `,{"id":"C`, `the JSON that begins "{\"scores\":[{\"id\":\"B2\",\"score\":0.5},{\"id\"..." cannot be read: unexpected EOF`},
		{"thinking without an end", "<think>perhaps " + both(`{"id":"C3","score":0}`), `the thinking has no end, and nothing comes after it`},
		{"nothing after thinking", "<think>hm</think> \n", `the reply is empty`},
		{"empty", "", `the reply is empty`},
		{"refusal", "I am sorry, I cannot compare these.", `there is no JSON object with "scores" in it`},
		{"a list alone", `[` + b + `]`, `there is no JSON object with "scores" in it`},
		{"an object for the list", `{"scores":{"B2":1,"C3":0}}`, `"scores" is not a list`},
		{"null for the list", `{"scores":null}`, `"scores" is not a list`},
		{"a number for an entry", both(`1`), `1 is no JSON object; id "C3" is missing`},
		{"only beginnings", strings.Repeat("{", 300), `the JSON that begins "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{..." cannot be read: invalid character '{' looking for beginning of object key string`},
	} {
		got, err := verdicts(c.reply, []string{"C3", "B2"}, nil)
		if got != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\ngot  %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// A model that has lost its way writes on to its limit, and a reply is read in time that grows with its length all the same.
func TestNonsenseIsReadInTime(t *testing.T) {
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, `{"scores":%d}`, i)
	}
	for name, reply := range map[string]string{
		"verdict after verdict":   many.String(),
		"one that has no end":     strings.Repeat(`{"a":`, maxBeginnings) + `"` + strings.Repeat("x", maxAnswer-1000),
		"no verdicts at all":      strings.Repeat("{}", maxAnswer/2),
		"more than anybody reads": strings.Repeat("{}", maxAnswer),
	} {
		began := time.Now()
		if _, err := verdicts(reply, []string{"B2"}, nil); err == nil || time.Since(began) > 2*time.Minute {
			t.Errorf("%s: %v after %s", name, err, time.Since(began))
		}
	}
}

// Eight were asked about and seven answered: the one that is missing is named.
func TestEightAndSeven(t *testing.T) {
	ids := strings.Fields("B2 C3 D4 F5 G6 H7 J8 K9")
	var entries []string
	for _, id := range ids[:7] {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"score":0.5}`, id))
	}
	got, err := verdicts(`{"scores":[`+strings.Join(entries, ",")+`]}`, ids, nil)
	if got != nil || err == nil || err.Error() != `id "K9" is missing` {
		t.Errorf("%v, %v", got, err)
	}
}

func TestVerdictsKeepNoMinusZeroAndNoLongReasons(t *testing.T) {
	got, err := verdicts(`{"scores":[{"id":"B2","score":-0,"reason":"`+strings.Repeat("é", 200)+`"}]}`, []string{"B2"}, nil)
	if err != nil || fmt.Sprint(got["B2"].score) != "0" || got["B2"].reason != strings.Repeat("é", 150)+"..." {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestVerdictsOfTurns(t *testing.T) {
	turns := map[string]int{"B2": 3}
	for list, want := range map[string]string{
		`[0,0.5,1]`:     "",
		`[0,0.5]`:       `"turns" of id "B2" is not a list of 3 numbers`,
		`[0,0.5,1,0]`:   `"turns" of id "B2" is not a list of 3 numbers`,
		`null`:          `"turns" of id "B2" is not a list of 3 numbers`,
		`[0,2,1]`:       `turn 1 of id "B2" is not between 0 and 1: 2`,
		`["0",0,0]`:     `turn 0 of id "B2" is not a number: "0"`,
		`[0.1,0,null]`:  `turn 2 of id "B2" is absent`,
		`[[0],0,1]`:     `turn 0 of id "B2" is not a number: [0]`,
		`{"0":1,"1":1}`: `"turns" of id "B2" is not a list of 3 numbers`,
	} {
		got, err := verdicts(`{"scores":[{"id":"B2","score":1,"turns":`+list+`}]}`, []string{"B2"}, turns)
		if words := fmt.Sprint(err); want == "" && (err != nil || fmt.Sprint(got["B2"].turns) != "[0 0.5 1]") || want != "" && words != want {
			t.Errorf("%s: %+v, %v", list, got, err)
		}
	}
}
