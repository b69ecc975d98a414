//go:build unix

package child

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Command{At: "environment test", Words: []string{"sh", "-c", script}, Env: Plain()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// line reads what a script says first, once it is under way.
func line(t *testing.T, r io.Reader) string {
	t.Helper()
	s, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

func lives(pid string) bool {
	n, err := strconv.Atoi(pid)
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && syscall.Kill(n, 0) == nil && !strings.Contains(string(stat), ") Z ")
}

// ends waits for the end of a process that was killed: it is seen for a moment longer.
func ends(t *testing.T, pid string) {
	t.Helper()
	for began := time.Now(); lives(pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("process %s lives", pid)
		}
	}
}

func TestAChildTalksAndEnds(t *testing.T) {
	p := start(t, `read x; echo "heard $x"; exit 3`)
	io.WriteString(p.Stdin, "this\n")
	if got := line(t, p.Stdout); got != "heard this" {
		t.Error(got)
	}
	if got := p.Ended(); got != "exit status 3" {
		t.Error(got)
	}
	p.Stop(time.Second)
	p.Stop(time.Second)
}

// Whatever a child does not to end, nothing of it is left: not what ignores signals, not what went to a session of its own.
func TestStopLeavesNothing(t *testing.T) {
	for name, script := range map[string]string{
		"obeys":          `echo $$; read x`,
		"ignores":        `trap '' TERM; echo $$; while :; do sleep 1; done`,
		"grandchild":     `sleep 1000 & echo $!; wait`,
		"another group":  `setsid sh -c 'echo $$; exec sleep 1000' & wait`,
		"ends, leaves":   `setsid sleep 1000 & echo $!`,
		"closes its end": `exec <&-; echo $$; exec sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, script)
			pid := line(t, p.Stdout)
			began := time.Now()
			p.Stop(100 * time.Millisecond)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			ends(t, pid)
		})
	}
	if n := Left(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	for _, words := range [][]string{nil, {"no-such-program"}, {"/etc/passwd"}} {
		if _, err := Start(Command{At: "environment test", Words: words}); rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), "environment test: ") {
			t.Errorf("%v: %v", words, err)
		}
	}
}

// A child sees nothing of this process's environment but what it is given.
func TestAChildSeesNoSecrets(t *testing.T) {
	t.Setenv("SOME_API_KEY", "hidden")
	p := start(t, `env | tr '\n' ' '; echo`)
	got := line(t, p.Stdout)
	if strings.Contains(got, "hidden") || !strings.Contains(got, "PATH=") || !strings.Contains(got, "LONGHAUL_CHILD=") {
		t.Error(got)
	}
}

// An owner that is killed takes the groups of its children with it. What left its group, and directories, are there until the next
// process begins to have children, which sweeps them, and nothing of owners that live.
func TestTheNextOwnerSweeps(t *testing.T) {
	switch os.Getenv("LONGHAUL_TEST_OWNER") {
	case "": // in a home of their own: the tests of other packages sweep, too
		self := exec.Command(os.Args[0], "-test.run=^TestTheNextOwnerSweeps$")
		self.Env = append(os.Environ(), "LONGHAUL_TEST_OWNER=living", "TMPDIR="+t.TempDir())
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%s %v", out, err)
		}
		return
	case "first":
		p := start(t, `setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000`) // it is out of the group when it says so
		dir, err := Dir()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(line(t, p.Stdout) + " " + strconv.Itoa(p.pid) + " " + dir + "\n")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "next":
		start(t, "exec sleep 1000")
		return
	}
	mine := start(t, `echo; exec sleep 1000`)
	line(t, mine.Stdout)
	owner := func(which string) ([]byte, error) {
		other := exec.Command(os.Args[0], "-test.run=^TestTheNextOwnerSweeps$")
		other.Env = append(os.Environ(), "LONGHAUL_TEST_OWNER="+which)
		return other.Output()
	}
	out, _ := owner("first") // it is killed
	left := strings.Fields(string(out))
	if len(left) != 3 || !lives(left[0]) {
		t.Fatalf("%q", out)
	}
	ends(t, left[1])
	if out, err := owner("next"); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	ends(t, left[0])
	if _, err := os.Stat(filepath.Dir(left[2])); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", left[2], err)
	}
	if !lives(strconv.Itoa(mine.pid)) {
		t.Error("a child of a living owner was killed")
	}
}

// What cannot be owned now may be later: the home of all owners is repaired, and children start.
func TestOwningIsTriedAgain(t *testing.T) {
	if os.Getenv("LONGHAUL_TEST_OWNER") == "" {
		self := exec.Command(os.Args[0], "-test.run=^TestOwningIsTriedAgain$")
		self.Env = append(os.Environ(), "LONGHAUL_TEST_OWNER=1", "TMPDIR="+t.TempDir())
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%s %v", out, err)
		}
		return
	}
	if err := errors.Join(os.Mkdir(home(), 0o755), os.Chmod(home(), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Command{At: "environment test", Words: []string{"true"}}); rl.KindOf(err) != rl.Unavailable {
		t.Error(err)
	}
	if err := os.Chmod(home(), 0o700); err != nil {
		t.Fatal(err)
	}
	start(t, "true")
}

// A group's number stays its own when all that was started in it has ended, and nothing is signalled once it was given back.
func TestAGroupsNumberIsNobodyElses(t *testing.T) {
	p := start(t, "exit 0")
	<-p.Done()
	if err := syscall.Kill(-p.group.id(), 0); err != nil {
		t.Errorf("the number is free: %v", err)
	}
	p.Stop(0)
	foreign := exec.Command("sleep", "1000")
	foreign.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	defer foreign.Wait()
	defer foreign.Process.Kill()
	p.group.guard.Process.Pid = foreign.Process.Pid // as if the kernel had given the number to others
	p.Kill()
	p.Stop(0)
	time.Sleep(50 * time.Millisecond)
	if !lives(strconv.Itoa(foreign.Process.Pid)) {
		t.Error("a foreign group was killed")
	}
}

func TestMemoryIsMeasured(t *testing.T) {
	p := start(t, `echo; read forever`) // in one program: between two there is a moment without memory
	line(t, p.Stdout)
	if n := Memory([]*Process{p}); n < 100_000 || n > 50e6 {
		t.Errorf("%d bytes", n)
	}
	p.Stop(0)
	if n := Memory([]*Process{p}); n != 0 {
		t.Errorf("%d bytes after its end", n)
	}
}
