package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// sandboxes are those that work here, by name. The same hostile programs are run in each.
func sandboxes(t *testing.T, b bounds) map[string]sandbox {
	t.Helper()
	out := map[string]sandbox{"micropython": small(t, b)}
	if box, why := bubblewrapHere(b); box != nil {
		out["bubblewrap"] = box
	} else {
		t.Logf("bubblewrap does not work here: %v", why)
	}
	if engine, image, ok := strings.Cut(os.Getenv("LONGHAUL_TEST_CONTAINER"), " "); ok { // "podman IMAGE"
		b.memory, b.processes = 256<<20, boxProcesses
		box := newContainer(b, engine, image)
		if err := box.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		out["container"] = box
	}
	return out
}

// boxProcesses is how many processes a program has in the tests' boxes.
const boxProcesses = 24

func bubblewrapHere(b bounds) (sandbox, error) {
	b.memory, b.processes = 256<<20, boxProcesses
	box := newBubblewrap(b, nil)
	if err := box.check(context.Background()); err != nil {
		return nil, err
	}
	return box, nil
}

// aBubblewrap is for tests that are of nothing else.
func aBubblewrap(t *testing.T) *box {
	t.Helper()
	b, why := bubblewrapHere(usual) // with 256 MiB
	if b == nil {
		t.Skipf("bubblewrap does not work here: %v", why)
	}
	return b.(*box)
}

var usual = bounds{time: 10 * time.Second, memory: 16 << 20, disk: room{files: 50, bytes: 2 << 20}}

// interpreters are MicroPythons by their bounds: compiling one takes longer than any test.
var interpreters sync.Map

func small(t *testing.T, b bounds) sandbox {
	t.Helper()
	if m, ok := interpreters.Load(b); ok {
		return m.(sandbox)
	}
	m, err := newMicropython(b)
	if err != nil {
		t.Fatal(err)
	}
	interpreters.Store(b, m)
	return m
}

func mustRun(t *testing.T, box sandbox, files tree, source string) outcome {
	t.Helper()
	o, err := box.run(t.Context(), files, program{language: python, source: source, seed: 7, most: 2000})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return o
}

func TestInterpreterIsTheOneThatIsWrittenDown(t *testing.T) {
	const want = "1c054a4d21d4a6589bc568821ebf562889988ddaaf8a17a2e2985a56cf228051"
	sum := sha256.Sum256(interpreter)
	told, err := os.ReadFile("micropython/README.md")
	if got := hex.EncodeToString(sum[:]); got != want || err != nil || !strings.Contains(string(told), want) {
		t.Errorf("SHA-256 %s, %v", got, err)
	}
}

func TestPrograms(t *testing.T) {
	files := tree{"lib/double.py": []byte("def f(x):\n    return 2 * x\n"), "empty/": nil, "a.txt": []byte("abc")}
	for name, box := range sandboxes(t, usual) {
		t.Run(name, func(t *testing.T) {
			for source, want := range map[string]string{
				"print(1 + 1)":                           "2\n",
				"from lib.double import f; print(f(21))": "42\n",
				"import os; print(sorted(os.listdir('.')), os.listdir('empty'))":               "['a.txt', 'empty', 'lib'] []\n",
				"f = open('a.txt', 'a'); f.write('d'); f.close(); print(open('a.txt').read())": "abcd\n",
				"pass":                    "[no output]",
				"import sys; sys.exit(3)": "[exit status 3]",
				"print('x' * 3000)":       strings.Repeat("x", 2000) + "\n[truncated: 2000 of 3001 bytes]",
			} {
				if got := mustRun(t, box, files, source).text(); got != want {
					t.Errorf("%s: %q", source, got)
				}
			}
			o := mustRun(t, box, files, "import os\nos.rmdir('empty')\nos.mkdir('d')\nos.mkdir('e')\nf = open('d/new', 'w')\nf.write('1')\nf.close()\nos.rename('a.txt', 'd/old')\nos.remove('lib/double.py')\n1/0")
			if !strings.Contains(o.output, "ZeroDivisionError") || o.exit != 1 {
				t.Errorf("%+v", o)
			}
			if want := (tree{"d/new": []byte("1"), "d/old": []byte("abc"), "e/": nil, "lib/": nil}); string(rl.CanonicalJSON(o.tree)) != string(rl.CanonicalJSON(want)) {
				t.Errorf("%q", o.tree)
			}
			if string(files["a.txt"]) != "abc" || len(files) != 3 {
				t.Errorf("the tree that was given has changed: %q", files)
			}
		})
	}
}

// The same program does the same each time: there is nothing in the sandbox that changes.
func TestMicropythonRepeatsItself(t *testing.T) {
	source := "import random, time, os\nprint(random.random(), time.time(), os.urandom(4) if hasattr(os, 'urandom') else '', id(object()))"
	box := small(t, usual)
	first := mustRun(t, box, tree{}, source)
	if again := mustRun(t, box, tree{}, source); first.text() != again.text() || first.exit != 0 {
		t.Errorf("%q, then %q", first.text(), again.text())
	}
}
