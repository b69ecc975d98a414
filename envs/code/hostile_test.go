package code

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile are programs that try to get out, or to take everything. Each is an observation, after which the sandbox runs
// the next program as if nothing had been.
var hostile = map[string]string{
	"fork bomb":              "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
	"never-ending loop":      "while True: pass",
	"loop that prints":       "while True: print('x' * 1000)",
	"loop that catches":      "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
	"memory bomb":            "x = []\nwhile True: x.append(bytearray(1000000))",
	"memory of many":         "import os, time\nfor i in range(3): os.fork()\nx = bytearray(b'x' * 100000000)\ntime.sleep(2)",
	"memory shared":          "import os, mmap, time\nfor i in range(3): os.fork()\nm = mmap.mmap(-1, 100000000)\nm.write(b'x' * 100000000)\ntime.sleep(2)",
	"stops its keeper":       "import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(1000)",
	"memory of nobody":       "import os\nfor i in range(3): os.fork()\nx = []\nfor i in range(100):\n    f = os.memfd_create('m')\n    os.write(f, b'x' * 1000000)",
	"fork bomb of a shell":   "import os\nos.system('f() { f | f & }; f; sleep 2')",
	"one huge allocation":    "x = bytearray(8 * 1000 * 1000 * 1000)",
	"deep recursion":         "def f(n): return f(n + 1) + 1\nf(0)",
	"10 GB file":             "f = open('big', 'wb')\nb = b'x' * 1000000\nfor i in range(10000): f.write(b)",
	"10 GB hole":             "f = open('big', 'wb')\nf.seek(10 * 1000 * 1000 * 1000)\nf.write(b'x')\nf.close()",
	"many files":             "for i in range(100000): open('f%d' % i, 'w').close()",
	"many directories":       "import os\nfor i in range(100000): os.mkdir('d%d' % i)",
	"open files":             "x = []\nfor i in range(100000): x.append(open('f', 'w'))",
	"deleted files":          "import os\nx = []\nfor i in range(200):\n    f = open('f', 'wb')\n    f.write(b'x' * 1000000)\n    f.flush()\n    os.remove('f')\n    x.append(f)",
	"network":                "import socket\ns = socket.socket()\ns.settimeout(3)\ns.connect(('127.0.0.1', PORT))\nprint('connected')",
	"reading outside":        "print(open('/etc/passwd').read())",
	"reading by dots":        "print(open('../../../../../../etc/passwd').read())",
	"reading the host":       "print(open(SECRET).read())",
	"writing outside":        "open(SECRET, 'w').write('mine')",
	"escape by symlink":      "import os\nos.symlink(SECRET, 'link')\nprint(open('link').read())",
	"symlink for the next":   "import os\nos.symlink('/etc/passwd', 'link')",
	"directory for the next": "import os\nos.symlink('/', 'root')",
	"environment":            "import os\nprint(os.environ['LONGHAUL_HIDDEN'])",
	"kill everything":        "import os\nos.kill(-1, 9)",
	"signal the parent":      "import os\nos.kill(os.getppid(), 9)",
	"left running":           "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)",
	"host functions":         "import host\nhost.call('open', '{}')",
	"forged end": `import os
for p in os.listdir('/proc'):
    try: open('/proc/%s/fd/1' % p, 'wb').write(b'0\n5\nhello')
    except OSError: pass`,
	"forged whole": `import os, time
for p in os.listdir('/proc'):
    try: open('/proc/%s/fd/1' % p, 'wb').write(b'0\n5\nhello' + bytes(1024))
    except OSError: pass
while True: pass`,
	"null bytes": "open('a\\0b', 'w')",
	"exec":       "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo out; cat ' + SECRET])",
	"mount":      "import os\nos.system('mount -t tmpfs none /usr; unshare -Ur cat ' + SECRET)",
}

func TestHostileProgramsAreContained(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("the host's own"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(secret); dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755) // anybody could read it, if there were a way to it
	}
	t.Setenv("LONGHAUL_HIDDEN", "the host's own")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := usual
	b.time = 2 * time.Second
	for name, box := range sandboxes(t, b) {
		before := childrenOf(os.Getpid())
		for what, source := range hostile {
			t.Run(name+"/"+what, func(t *testing.T) {
				began := time.Now()
				source = strings.NewReplacer("SECRET", "'"+secret+"'", "PORT", fmt.Sprint(l.Addr().(*net.TCPAddr).Port)).Replace(source)
				most := processesAtMost()
				allow(box, b.time)
				o := mustRun(t, box, tree{"kept.txt": []byte("kept")}, source)
				if strings.Contains(o.text(), "host's own") || name != "container" && strings.Contains(o.text(), "root:") || strings.Contains(o.text(), "connected") {
					t.Errorf("it got out: %q", o.text())
				}
				if n := most(); n > boxProcesses+8 {
					t.Errorf("%d processes at once", n)
				}
				if took := time.Since(began); took > 40*time.Second {
					t.Errorf("it took %s", took)
				}
				if len(o.text()) > 3000 {
					t.Errorf("%d bytes of output", len(o.text()))
				}
				files := o.tree
				if files == nil || strings.HasPrefix(what, "forged") { // it may spoil its own directory, as any program may
					files = tree{"kept.txt": []byte("kept")}
				}
				if err := files.fits(b.disk); err != nil || string(files["kept.txt"]) != "kept" {
					t.Errorf("the working directory has %d files: %v", len(files), err)
				}
				t.Logf("%s, %d files: %.200q", time.Since(began).Round(time.Millisecond), len(files), o.text())
				allow(box, usual.time) // it is to end by itself
				next := mustRun(t, box, files, "import os\nprint('clean', open('kept.txt').read(), os.path.islink('link') if hasattr(os, 'path') else False)")
				if next.output != "clean kept False\n" {
					t.Errorf("the next program: %q", next.text())
				}
			})
		}
		if after := childrenOf(os.Getpid()); len(after) > len(before) {
			t.Errorf("%s left %v running", name, after)
		}
		if name == "container" {
			engine, _, _ := strings.Cut(os.Getenv("LONGHAUL_TEST_CONTAINER"), " ")
			if left, err := exec.Command(engine, "ps", "--all", "--quiet", "--filter", "name=longhaul-").Output(); err != nil || len(left) > 0 {
				t.Errorf("%s left %s running, %v", name, left, err)
			}
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "the host's own" {
		t.Errorf("the host's file: %q, %v", b, err)
	}
}

// What processes take together is counted once: memory that they share with each other as well as their own, and what a child has of
// its parent not twice.
func TestMemoryIsCountedTogether(t *testing.T) {
	box := aBubblewrap(t)
	const fork = "import os, mmap, time\n%s\nfor i in range(2): os.fork()\n%s\ntime.sleep(1)\nprint('fits') if os.getpid() == first else None"
	for _, c := range []struct{ before, after, want string }{
		{"first = os.getpid()\nx = bytearray(b'x' * 100000000)", "", "fits\n"},
		{"first = os.getpid()\nm = mmap.mmap(-1, 100000000)\nm.write(b'x' * 100000000)", "for i in range(100): m[i * 1000000:(i + 1) * 1000000] = b'y' * 1000000", "fits\n"},
		{"first = os.getpid()", "x = bytearray(b'x' * 100000000)", "[stopped: its processes took more than 256 MiB of memory; the working directory is as it was before]"},
		{"first = os.getpid()", "m = mmap.mmap(-1, 100000000)\nm.write(b'x' * 100000000)", "[stopped: its processes took more than 256 MiB of memory; the working directory is as it was before]"},
	} {
		o := mustRun(t, box, tree{}, fmt.Sprintf(fork, c.before, c.after))
		if o.text() != c.want {
			t.Errorf("%s; %s: %q, not %q", c.before, c.after, o.text(), c.want)
		}
	}
}

// allow gives the next programs so much time.
func allow(s sandbox, d time.Duration) {
	switch s := s.(type) {
	case *micropython:
		s.bounds.time = d
	case *box:
		s.bounds.time = d
	}
}

// processesAtMost counts the processes below this one, many times a second, until the function that it returns is called, which
// says how many there were at most.
func processesAtMost() func() int {
	stop, most := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			n = max(n, len(childrenOf(os.Getpid())))
			select {
			case <-stop:
				most <- n
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int { close(stop); return <-most }
}

// When the episode ends while a program runs, the program ends.
func TestProgramsEndWithTheirEpisode(t *testing.T) {
	b := usual
	b.time = time.Minute // its own time is not over
	for name, box := range sandboxes(t, b) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		_, err := box.run(ctx, tree{}, program{language: python, source: "while True: pass", most: 100})
		cancel()
		if err == nil || time.Since(began) > 40*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(began))
		}
	}
}
