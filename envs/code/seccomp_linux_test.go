package code

import "testing"

// A program has sockets of its own network and files, and no others.
func TestSocketsAreOfFewKinds(t *testing.T) {
	box, why := bubblewrapHere(usual)
	if box == nil {
		t.Skipf("bubblewrap does not work here: %v", why)
	}
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
