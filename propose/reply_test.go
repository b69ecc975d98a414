package propose

import (
	"errors"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/reward"
)

func anything(mcp.Task) error { return nil }

func TestRepliesThatAreNoTasks(t *testing.T) {
	good := `{"goal":"find out","rubric":"r","tools":["t"],"files":[{"path":"a/b","content":"c"}],"answer_contains":"x"}`
	for text, want := range map[string]string{
		`{"tasks":[` + good + `]}`:                        "",
		"Here:\n```json\n{\"tasks\":[" + good + "]}\n```": "",
		``:                                       "the reply is empty",
		`no`:                                     `there is no JSON object with "tasks" in it`,
		`{"tasks":[]}`:                           `"tasks" is not a list of 1 to 50 tasks`,
		`{"tasks":{}}`:                           `"tasks" is not a list of 1 to 50 tasks`,
		`{"tasks":[7]}`:                          `task 1: 7 is no JSON object`,
		`{"tasks":[` + good + `],"tasks":[]}`:    `"tasks" is given twice in one object`,
		`{"tasks":[` + good + `]} {"tasks":[7]}`: `there are different JSON objects with "tasks"; give one`,
		`{"tasks":[{"goal":7,"rubric":"r","tools":["t"]}]}`:                                                                                `task 1: "goal" is missing, or is not what it should be`,
		`{"tasks":[{"goal":"find out","rubric":"r","tools":[]}]}`:                                                                          `task 1: it names no tool that it takes`,
		`{"tasks":[{"goal":" ","rubric":"r","tools":["t"]},{"goal":"find out","rubric":"r","tools":["u"]}]}`:                               `task 1: its goal is empty, or has more than 4000 bytes; task 2: there is no tool "u"`,
		`{"tasks":[{"goal":"...","rubric":"r","tools":["t"]}]}`:                                                                            `task 1: its goal "..." says nothing`,
		`{"tasks":[{"goal":"find out","rubric":"r","tools":["t"],"files":[{"path":"/etc/x","content":""}]}]}`:                              `task 1: the file "/etc/x" does not lie in the directory, or has more than 20000 bytes`,
		`{"tasks":[{"goal":"find out","rubric":"r","tools":["t"],"files":[{"path":"x","content":"` + strings.Repeat("y", 20001) + `"}]}]}`: `task 1: the file "x" does not lie in the directory, or has more than 20000 bytes`,
	} {
		found, err := read(reward.Reply{Text: text}, []string{"t"}, true, anything)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%.200s: %v", text, err)
		}
		if want == "" && (len(found) != 1 || found[0].task().Files["a/b"] != "c") {
			t.Errorf("%s: %+v", text, found)
		}
	}
	// One that is wrong takes no other with it.
	found, err := read(reward.Reply{Text: `{"tasks":[{"goal":"find out"},` + good + `]}`}, []string{"t"}, true, anything)
	if len(found) != 1 || found[0].Answer != "x" || err == nil || !strings.HasPrefix(err.Error(), "task 1: ") {
		t.Errorf("%+v, %v", found, err)
	}
	found, err = read(reward.Reply{Text: `{"tasks":[{"goal":"find out","rubric":"r","tools":["t","t"]}]}`}, []string{"t"}, true, anything)
	if len(found) != 1 || len(found[0].Tools) != 1 || err != nil {
		t.Errorf("a tool is named twice: %+v, %v", found, err)
	}
	refuse := func(mcp.Task) error { return errors.New("there is a directory") }
	if found, err := read(reward.Reply{Text: `{"tasks":[` + good + `]}`}, []string{"t"}, true, refuse); len(found) > 0 || err == nil || err.Error() != "task 1: there is a directory" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := read(reward.Reply{Text: `{"tasks":[` + good + `]}`}, []string{"t"}, false, anything); err == nil {
		t.Error("files where there is no directory")
	}
	if _, err := read(reward.Reply{Text: `{"tasks":[` + good + `]}`, Finish: "length"}, []string{"t"}, true, anything); err == nil {
		t.Error("a reply that was cut off")
	}
}

func TestVerdicts(t *testing.T) {
	for text, want := range map[string]string{
		`{"success": true, "why": "so"}`: "true", `ok {"why":"no","success":false}`: "false", `{"success":"true"}`: "", `{"success":1}`: "", `yes`: "", `{"success":true,"success":false}`: "",
	} {
		good, _, err := verdict(text)
		if (err == nil) != (want != "") || err == nil && good != (want == "true") {
			t.Errorf("%s: %v, %v", text, good, err)
		}
	}
}

func TestAlike(t *testing.T) {
	var k known
	for _, c := range []struct {
		goal string
		want bool
	}{
		{"Write the sum of a.txt and b.txt into c.txt", false},
		{"write the sum of A.txt and b.txt into c.txt!", true},
		{"Please write the sum of a.txt and b.txt into c.txt", true},
		{"Write the names of all files larger than 10 bytes to big.txt", false},
		{"What time is it in Oslo when it is noon in Lima?", false},
		{"What time is it in Lima when it is noon in Oslo?", true}, // the same but for its numbers and names
		{"", false}, {"!", true},
	} {
		if got := k.alike(c.goal); got != c.want {
			t.Errorf("%q is like another: %v", c.goal, got)
		}
	}
}

// Whatever a model writes, what is read are tasks that a file of tasks can hold.
func FuzzRead(f *testing.F) {
	f.Add(`{"tasks":[{"goal":"find out","rubric":"r","tools":["t"],"files":[{"path":"a","content":"c"}],"answer_contains":"x"}]}`, true)
	f.Add("<think></think>```{\"tasks\":[{}]}```", false)
	f.Fuzz(func(t *testing.T, text string, files bool) {
		found, err := read(reward.Reply{Text: text}, []string{"t"}, files, anything)
		if err == nil && len(found) == 0 {
			t.Fatal("nothing, and nothing is wrong")
		}
		for _, w := range found {
			if err := w.task().Valid(); err != nil {
				t.Fatal(err)
			}
		}
		verdict(text)
	})
}
