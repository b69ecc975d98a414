package propose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// A line that a crash cut off is taken off; a damaged one in the middle is not passed over.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(path); rl.KindOf(err) != rl.Conflict {
		t.Errorf("two at once: %v", err)
	}
	for _, e := range []entry{{Wrote: "a"}, {Attempt: "x", Turn: &rl.Recorded{Earned: 1}}, {Attempt: "x"}, {Attempt: "x", Turn: &rl.Recorded{Earned: 2}}} {
		if err := j.add(e); err != nil {
			t.Fatal(err)
		}
	}
	j.file.WriteString(`{"attempt":"x","turn":`)
	j.close()
	for range 2 {
		if j, err = openJournal(path); err != nil {
			t.Fatal(err)
		}
		if turns, anew := j.attempt("x"); !j.wrote["a"] || len(turns) != 1 || turns[0].Earned != 2 || anew != 1 {
			t.Fatalf("%+v", j)
		}
		if err := j.add(entry{Wrote: "b"}); err != nil {
			t.Fatal(err)
		}
		j.close()
	}
	if j, err = openJournal(path); err != nil {
		t.Fatal(err)
	}
	file := j.file
	j.file, _ = os.Open(path) // it takes no bytes
	if err := j.add(entry{Wrote: "c"}); err == nil {
		t.Error("an entry that is not on the disk counts")
	}
	j.file = file
	if err := j.add(entry{Wrote: "d"}); err == nil { // what was half written stands before it
		t.Error("an entry is written behind half of another")
	}
	j.close()
	os.WriteFile(path, []byte("{}\nx\n{}\n"), 0o644)
	if _, err := openJournal(path); rl.KindOf(err) != rl.Corrupt || !strings.HasPrefix(err.Error(), path+":2: ") {
		t.Error(err)
	}
}
