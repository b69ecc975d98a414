package openenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// real is a server of the openenv package, as a process of its own.
type real struct {
	t       *testing.T
	port    int
	dir     string // of the worlds' Python
	args    []string
	environ []string
	process *exec.Cmd
}

// serveReal starts python with arguments, and waits until it serves; {port} stands for the port.
func serveReal(t *testing.T, environ []string, args ...string) *real {
	t.Helper()
	s := newReal(t)
	s.environ = environ
	for _, a := range args {
		s.args = append(s.args, strings.ReplaceAll(a, "{port}", strconv.Itoa(s.port)))
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func newReal(t *testing.T) *real {
	t.Helper()
	worlds := os.Getenv("LONGHAUL_TEST_WORLDS")
	if _, err := os.Stat(filepath.Join(worlds, "openenv", "bin", "python")); worlds == "" || err != nil { // make test-worlds has it
		t.Skip("the openenv package (320 MB) is not installed; make test-worlds installs it, and runs this")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &real{t: t, dir: filepath.Join(worlds, "openenv", "bin"), port: l.Addr().(*net.TCPAddr).Port}
}

func (s *real) url() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

func (s *real) start() {
	s.t.Helper()
	s.process = exec.Command(filepath.Join(s.dir, "python"), s.args...)
	s.process.Env = append(append(os.Environ(), "PORT="+strconv.Itoa(s.port)), s.environ...)
	s.process.Stdout, s.process.Stderr = os.Stderr, os.Stderr
	if _, err := s.process.StdinPipe(); err != nil { // which ends when this process does
		s.t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			conn.Close()
			return
		}
		if time.Since(began) > 5*time.Minute {
			s.t.Fatal("the server does not serve")
		}
	}
}

func (s *real) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

func (s *real) world(change func(*rl.OpenEnvConfig)) envs.World {
	s.t.Helper()
	c := rl.OpenEnvConfig{URL: s.url(), Sessions: 1, Tool: "act", OutputBytes: 1000, Score: "sum", Failed: "void", ResetTimeout: rl.Duration(10 * time.Minute)}
	if change != nil {
		change(&c)
	}
	w, err := open(rl.EnvConfig{Use: "openenv", OpenEnv: c})
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// The world that `openenv init` writes, served as its own documentation says: a hundred episodes on its one session.
func TestRealWorldOfOpenEnvInit(t *testing.T) {
	dir, bin := t.TempDir(), newReal(t).dir
	if out, err := exec.Command(filepath.Join(bin, "openenv"), "init", "echoer", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := serveReal(t, nil, "-m", "uvicorn", "--app-dir", filepath.Join(dir, "echoer"), "server.app:app", "--port", "{port}", "--log-level", "warning").world(nil)
	began := time.Now()
	for i := range 100 {
		task := w.Task(rl.Train, i)
		env := w.New()
		o, err := env.Reset(t.Context(), task)
		if err != nil || o.Messages[0].Content != `{"echoed_message":"Echoer environment ready!","message_length":0}` {
			t.Fatalf("%+v, %v", o, err)
		}
		for n := range 5 {
			message := strings.Repeat("é", n)
			r, err := env.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{Name: "act", Arguments: rl.CanonicalJSON(map[string]string{"message": message})}})
			if want := fmt.Sprintf(`{"echoed_message":%q,"message_length":%d}`, message, n); err != nil || r.Content != want || r.Reward != float64(n)*.1 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		if s, err := env.Score(t.Context()); err != nil || s.Value < .999 || s.Value > 1.001 {
			t.Fatalf("%+v, %v", s, err)
		}
		env.Close()
	}
	t.Logf("100 episodes of 5 steps in %s", time.Since(began))
}

// guess acts in testdata/counting.py.
func guess(t *testing.T, env envs.Env, number int, note string) (envs.Result, error) {
	t.Helper()
	arguments := rl.CanonicalJSON(map[string]any{"number": number, "note": note})
	return env.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{Name: "act", Arguments: arguments}})
}

// find plays an episode to its end.
func find(t *testing.T, w envs.World, task rl.Task) (guesses int) {
	t.Helper()
	env := w.New()
	defer env.Close()
	if _, err := env.Reset(t.Context(), task); err != nil {
		t.Error(err)
		return 0
	}
	for low, high := 0, 9999; ; {
		middle := (low + high) / 2
		r, err := guess(t, env, middle, "")
		switch guesses++; {
		case err != nil:
			t.Error(err)
			return 0
		case r.Done:
			if s, err := env.Score(t.Context()); err != nil || s.Value != 1 {
				t.Errorf("%+v, %v", s, err)
			}
			return guesses
		case strings.Contains(r.Content, "higher"):
			low = middle + 1
		default:
			high = middle - 1
		}
		if strings.Contains(r.Content, "secret") {
			t.Fatalf("metadata is shown: %s", r.Content)
		}
	}
}

// A seeded world with four sessions: a hundred episodes side by side, twice alike; the capacity is kept to, and taken
// sessions are waited for.
func TestRealEpisodesSideBySide(t *testing.T) {
	w := serveReal(t, []string{"SESSIONS=4"}, "testdata/counting.py").world(func(c *rl.OpenEnvConfig) { c.Sessions = 6 }) // two too many
	var played [2][100]int
	for round := range played {
		var wg sync.WaitGroup
		for i := range played[round] {
			wg.Go(func() { played[round][i] = find(t, w, w.Task(rl.Train, i)) })
		}
		wg.Wait()
	}
	if played[0] != played[1] {
		t.Errorf("%v\n%v", played[0], played[1])
	}
}

// What breaks a real server's session, and what does not.
func TestRealFailures(t *testing.T) {
	s := serveReal(t, []string{"SESSIONS=1"}, "testdata/counting.py")
	w := s.world(nil)
	env := played(t, w)
	for name, arguments := range map[string]string{
		"digits": `{"number":` + strings.Repeat("7", 5000) + `}`, "half a pair": `{"number":1,"note":"\ud83d"}`,
		"a fraction": `{"number":1.5}`, "too deep": `{"number":1,"note":"","x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		if r, err := env.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{Name: "act", Arguments: json.RawMessage(arguments)}}); err != nil || !strings.HasPrefix(r.Content, "bad call: ") {
			t.Errorf("%s: %.200q, %v", name, r.Content, err)
		}
	}
	if r, err := guess(t, env, 5, "long"); err != nil || len(r.Content) < 10_000_000 {
		t.Errorf("%d bytes, %v", len(r.Content), err)
	}
	if r, err := guess(t, env, 5, "broken"); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "EXECUTION_ERROR: division by zero") {
		t.Errorf("%+v, %v", r, err)
	}
	told := s.world(func(c *rl.OpenEnvConfig) { c.Failed = "observation" })
	env = played(t, told)
	if r, err := guess(t, env, 5, "broken"); err != nil || r.Content != "failed: division by zero" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := guess(t, env, 5, ""); err != nil || !strings.Contains(r.Content, `"guesses":2`) {
		t.Errorf("after it the session goes on: %+v, %v", r, err)
	}
}

// The server is killed in mid-episode and comes back. A seeded world goes on where it was; one that is not is void.
func TestRealServerIsKilledInMidEpisode(t *testing.T) {
	for _, wanders := range []string{"", filepath.Join(t.TempDir(), "episodes")} {
		s := serveReal(t, []string{"SESSIONS=1", "WANDERS=" + wanders}, "testdata/counting.py")
		w := s.world(nil)
		turns := []string{`{"number":1}`, `{"number":98}`, `{"number":50}`, `{"number":51}`, `{"number":49}`, `{"number":2}`}
		whole, _, err := attempt(w, plays("act", turns...), len(turns), nil)
		if err != nil {
			t.Fatal(err)
		}
		killed, started := make(chan struct{}), make(chan struct{})
		_, recorded, err := attempt(w, plays("act", append(turns[:3:3], `{"number":51,"note":"slow"}`)...), len(turns), nil, func(n int) {
			if n == 4 {
				time.AfterFunc(200*time.Millisecond, func() { s.kill(); close(killed) })
			}
		})
		if rl.KindOf(err) != rl.Unavailable || len(recorded) != 4 {
			t.Fatalf("%d turns, %v", len(recorded), err)
		}
		<-killed
		time.AfterFunc(time.Second, func() { defer close(started); s.start() }) // while the episode already waits for it
		recorded[3].Action.Message.ToolCalls[0].Arguments = json.RawMessage(turns[3])
		again, _, err := attempt(w, plays("act", turns...), len(turns), recorded)
		<-started
		switch {
		case wanders != "" && !errors.Is(err, rollout.ErrDiverged):
			t.Errorf("another world: %v, %v", again, err)
		case wanders == "" && (err != nil || string(rl.CanonicalJSON(again)) != string(rl.CanonicalJSON(whole))):
			t.Errorf("%s\n%s, %v", rl.CanonicalJSON(again), rl.CanonicalJSON(whole), err)
		}
	}
}
