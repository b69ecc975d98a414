package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// jumping is what is put into package time of the clocked binary: LONGHAUL_CLOCK is MS:SECONDS,MS:SECONDS,.. - so many milliseconds
// after its start, the process's clock is so many seconds off. What measures durations by the monotonic clock does not see it.
const jumping = `
var jumps = func() (l [][2]int64) {
	s, _ := syscall.Getenv("LONGHAUL_CLOCK")
	var j [2]int64
	at, sign := 0, int64(1)
	for _, c := range []byte(s) {
		switch {
		case c == '-':
			sign = -1
		case c == ':' || c == ',':
			j[at], sign, at = j[at]*sign, 1, 1-at
			if c == ',' {
				l, j = append(l, j), [2]int64{}
			}
		default:
			j[at] = j[at]*10 + int64(c-'0')
		}
	}
	return l
}()

func jumped(since int64) (off int64) {
	for _, j := range jumps {
		if since >= j[0]*1e6 {
			off = j[1]
		}
	}
	return off
}
`

// clocked builds this package's test binary with a clock that jumps.
func clocked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const now, off = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n", "\tsec, nsec, mono := runtimeNow()\n\tsec += jumped(mono - startNano)\n\tif mono == 0 {\n"
	const imports = "import (\n"
	for _, s := range []string{now, imports} {
		if !bytes.Contains(source, []byte(s)) {
			t.Fatalf("%s has no %q: this test is for another Go", original, s)
		}
	}
	source = bytes.Replace(source, []byte(now), []byte(off), 1)
	source = bytes.Replace(source, []byte(imports), []byte(imports+"\t\"syscall\"\n"), 1)
	replaced := filepath.Join(dir, "time.go")
	if err := os.WriteFile(replaced, append(source, jumping...), 0o644); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "longhaul.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// A clock that is set forward and back, by seconds and by days, while the process is down and while it runs, changes nothing and
// stops nothing. All of longhaul and of its embedded servers is built on such a clock for it, which takes minutes: LONGHAUL_CLOCK_TEST
// asks for it, and `make crash` does.
func TestKilledWhileTheClockJumps(t *testing.T) {
	if os.Getenv("LONGHAUL_CLOCK_TEST") == "" {
		t.Skip("LONGHAUL_CLOCK_TEST is not set; make crash sets it")
	}
	want := newCrashing(t).end(t)
	binary := clocked(t)
	c, rng := newCrashing(t), rand.New(rand.NewPCG(7, 1))
	offs := []int{-26 * 3600, 3600, -40, 26 * 3600, 0, -3600, 90}
	for i := range offs {
		cmd, errs := c.train("")
		cmd.Path = binary
		cmd.Env = append(cmd.Env, fmt.Sprintf("LONGHAUL_CLOCK=0:%d,1200:%d,", offs[i], offs[(i+3)%len(offs)]))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(800*time.Millisecond + time.Duration(rng.Int64N(int64(2*time.Second))))
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Fatalf("the run was over before kill %d", i)
		}
		c.noted(errs)
	}
	cmd, errs := c.train("")
	cmd.Path, cmd.Env = binary, append(cmd.Env, "LONGHAUL_LOG=warn", fmt.Sprintf("LONGHAUL_CLOCK=0:0,3000:%d,6000:%d,9000:%d,", 7200, -7200, 0))
	over := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() })
	finish(t, cmd)
	over.Stop()
	if !strings.Contains(errs.String(), "the clock was set back by 4h0m") {
		t.Errorf("it does not tell that the clock was set back:\n%s", errs)
	}
	if got := c.end(t); got != want {
		t.Fatalf("the run ends with\n%+v, undisturbed with\n%+v", got, want)
	}
}
