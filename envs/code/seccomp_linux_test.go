package code

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// A program has sockets of its own network and files, and no others.
func TestSocketsAreOfFewKinds(t *testing.T) {
	box := aBubblewrap(t)
	const source = `import errno, socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16, 17, 38, 40): # netlink, packet, alg, vsock
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print(int(family), "made")
    except OSError as e:
        print(int(family), errno.errorcode[e.errno])
a, b = socket.socketpair()
a.send(b"said")
print(b.recv(9))`
	const want = "1 made\n2 made\n10 made\n16 EPERM\n17 EPERM\n38 EPERM\n40 EPERM\nb'said'\n"
	if o := mustRun(t, box, tree{}, source); o.text() != want {
		t.Errorf("%q, not %q", o.text(), want)
	}
}

// A box that does not start leaves no file open: the filter comes by a pipe.
func TestABoxThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/nowhere\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	box, before := newBubblewrap(usual, nil), files()
	for range 20 {
		if _, err := box.run(t.Context(), tree{}, program{language: shell, source: "true"}); rl.KindOf(err) != rl.Refused {
			t.Error(err)
		}
	}
	if after := files(); after >= before+20 {
		t.Errorf("%d files are open, then %d", before, after)
	}
}
