package code

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

func TestProblemsOfAFile(t *testing.T) {
	good := `{"goal":"g","module":"a.b","function":"f","files":{"x/y.txt":"z"},"tests":[{"args":[1,"a"],"want":null}]}`
	held := strings.Replace(good, `{"goal":"g"`, `{"split":"eval","goal":"h"`, 1)
	all, err := parseProblems([]byte(good+"\n\n"+held), usual.disk)
	if err != nil || len(all[rl.Train]) != 1 || len(all[rl.Eval]) != 1 || string(all[rl.Train][0].tree()["x/y.txt"]) != "z" {
		t.Fatalf("%+v, %v", all, err)
	}
	for bad, want := range map[string]string{
		good + "\n{}": "env.code.tasks: line 2: there is no goal",
		held + "\n" + strings.Replace(good, `"goal":"g"`, `"goal":"h"`, 1):                     "line 2: its goal is that of a task of the other split",
		`{"goal":"g","function":"f;import os","tests":[]}`:                                     "is no function in a module",
		`{"goal":"g","function":"f","tests":[]}`:                                               "there are no tests",
		`{"goal":"g","function":"f","tests":[{"args":1,"want":1}]}`:                            "test 0 needs args, a list, and want",
		`{"goal":"g","function":"f","tests":[{"args":[]}]}`:                                    "test 0 needs args, a list, and want",
		`{"goal":"g","function":"f","files":{"../x":""},"tests":[{"args":[],"want":1}]}`:       `"../x" is no path`,
		`{"goal":"g","function":"f","files":{"a":"","a/b":""},"tests":[{"args":[],"want":1}]}`: "a is a",
		`{"goal":"g","function":"f","tests":[{"args":[],"want":1}],"test":[]}`:                 `unknown field "test"`,
		`{"goal":"g","split":"exam","function":"f","tests":[{"args":[],"want":1}]}`:            "neither train nor eval",
	} {
		if _, err := parseProblems([]byte(bad), usual.disk); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestSameValues(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1", "1", true}, {"1", "1.0", true}, {"1", "2", false}, {`"1"`, "1", false}, {"[1, 2]", "[1,2]", true}, {"[1]", "[1,2]", false},
		{`{"a":1,"b":[null]}`, `{"b":[null],"a":1.0}`, true}, {"true", "1", false}, {"12345678901234567890", "12345678901234567891", false},
		{"nonsense", "nonsense", false}, {"", "", false}, {"null", "null", true}, {"[1] 2", "[1]", false},
	} {
		if same(json.RawMessage(c.a), json.RawMessage(c.b)) != c.same {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
}

func TestResultsAreThoseBehindTheMark(t *testing.T) {
	got := results("noise\n\x1eabc 0 [1]\nmark 1 2\n\x1eabc 2 3\n\x1eabc x 3\n\x1eabc 4 5\n\x1eabc 4 6\n\x1eabc 7", "\x1eabc ")
	if len(got) != 2 || string(got[0]) != "[1]" || string(got[2]) != "3" {
		t.Errorf("%v", got)
	}
}

// A tree is the same after it was packed and unpacked, and the same tree packs to the same bytes.
func TestPacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := tree{}
		for range rapid.IntRange(0, 20).Draw(t, "files") {
			files.put(rapid.StringMatching(`[a-z]{1,3}(/[a-zé ]{1,3}){0,3}`).Draw(t, "path"), rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "content"), usual.disk)
		}
		var first, second bytes.Buffer
		if err := files.pack(&first); err != nil {
			t.Fatal(err)
		}
		packed := bytes.Clone(first.Bytes())
		again, leftOut, err := unpack(&first, usual.disk)
		if err != nil || len(leftOut) > 0 || string(rl.CanonicalJSON(again)) != string(rl.CanonicalJSON(files)) {
			t.Fatalf("%q, then %q, %v, %v", files, again, leftOut, err)
		}
		if again.pack(&second); !bytes.Equal(packed, second.Bytes()) {
			t.Fatal("other bytes")
		}
		if disk := newDisk(files, usual.disk, 0).tree(); string(rl.CanonicalJSON(disk)) != string(rl.CanonicalJSON(files)) {
			t.Fatalf("%q on a disk is %q", files, disk)
		}
	})
}

func TestRoom(t *testing.T) {
	limit := room{files: 3, bytes: 1000}
	for _, c := range []struct {
		files tree
		want  string
	}{
		{tree{"a": make([]byte, 600), "b": make([]byte, 400)}, ""},
		{tree{"a": make([]byte, 600), "b": make([]byte, 401)}, "the working directory is full: it holds at most 1000 bytes"},
		{tree{"a": nil, "b": nil, "c/": nil}, ""},
		{tree{"a": nil, "b": nil, "c": nil, "d/": nil}, "the working directory is full: it holds at most 3 files"},
	} {
		var b bytes.Buffer
		if err := c.files.pack(&b); err != nil {
			t.Fatal(err)
		}
		if _, _, err := unpack(&b, limit); fmt.Sprint(err) != c.want && (err != nil || c.want != "") {
			t.Errorf("%d files: %v, not %q", len(c.files), err, c.want)
		}
	}
}

// As many files of as many bytes as a directory may have are there when a program runs, in each sandbox, whatever they take in pages.
func TestAFullDirectoryIsThere(t *testing.T) {
	b := usual
	b.disk = room{files: 50, bytes: 50 * 1025}
	full := tree{}
	for i := range b.disk.files {
		full[fmt.Sprintf("f%d.txt", i)] = make([]byte, 1025)
	}
	for name, box := range sandboxes(t, b) {
		if o := mustRun(t, box, full, "import os\nprint(len(os.listdir('.')))"); o.text() != "50\n" {
			t.Errorf("%s: %s", name, o.text())
		}
	}
}

// A name that cannot be kept is not passed over in silence.
func TestOddNamesAreListed(t *testing.T) {
	var b bytes.Buffer
	if err := (tree{"a": nil, `b\c`: nil, "link/": nil}).pack(&b); err != nil {
		t.Fatal(err)
	}
	files, leftOut, err := unpack(&b, usual.disk)
	if err != nil || len(files) != 2 || len(leftOut) != 1 || leftOut[0] != `b\c` {
		t.Errorf("%q, %q, %v", files, leftOut, err)
	}
}

// No length overflows what there is room for.
func TestLengthsAreBounded(t *testing.T) {
	d := newDisk(tree{"a": make([]byte, 100)}, usual.disk, 0)
	for _, size := range []int64{math.MaxInt64, math.MaxInt64 - 1, usual.disk.bytes + 1, -1} {
		if errno := d.resize(d.root.children["a"], size); errno == 0 {
			t.Errorf("a file of %d bytes", size)
		}
	}
	if errno := d.resize(d.root.children["a"], usual.disk.bytes); errno != 0 || d.bytes != usual.disk.bytes {
		t.Errorf("%v, %d bytes", errno, d.bytes)
	}
}

func FuzzUnpack(f *testing.F) {
	var b bytes.Buffer
	tree{"a": []byte("1"), "d/e": []byte("2"), "f/": nil}.pack(&b)
	f.Add(b.Bytes())
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		limit := room{files: 5, bytes: 1000}
		files, _, err := unpack(bytes.NewReader(archive), limit)
		if err != nil {
			return
		}
		if err := files.fits(limit); err != nil {
			t.Error(err)
		}
		for p := range files {
			if clean, wrong := local(strings.TrimSuffix(p, "/")); wrong != "" || clean != strings.TrimSuffix(p, "/") {
				t.Errorf("%q is in the tree: %s", p, wrong)
			}
		}
		newDisk(files, limit, 0)
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("ready\n0\n5\nhello"))
	f.Add([]byte("ready\n137\n-4\n"))
	f.Add([]byte("ready\n0\n99999999999\nx"))
	f.Fuzz(func(t *testing.T, said []byte) {
		o, ready, err := read(bufio.NewReader(bytes.NewReader(said)), 100, room{files: 5, bytes: 1000})
		if len(o.output) > 100 || o.exit < 0 || o.exit > 255 || o.whole < len(o.output) || !ready && err == nil {
			t.Errorf("%+v, %v, %v", o, ready, err)
		}
	})
}

func FuzzProblems(f *testing.F) {
	f.Add([]byte(`{"goal":"g","function":"f","files":{"x":"z"},"tests":[{"args":[1],"want":[2]}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := parseProblems(file, usual.disk)
		if err != nil && rl.KindOf(err) != rl.Invalid {
			t.Error(err)
		}
		for _, split := range all {
			for _, p := range split {
				if err := p.tree().fits(usual.disk); err != nil || !module.MatchString(p.Module) {
					t.Errorf("%+v, %v", p, err)
				}
			}
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add("m 0 [1]\n", "[1.0]")
	f.Add("m 0 {\"a\":1e400}\nm 1 x", "{\"a\":1}")
	f.Fuzz(func(t *testing.T, output, want string) {
		for _, got := range results(output, "m ") {
			if same(got, json.RawMessage(want)) != same(json.RawMessage(want), got) {
				t.Errorf("%s and %s", got, want)
			}
		}
	})
}
