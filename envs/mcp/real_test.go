package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// installed is the directory of the real servers; see scripts/worlds.sh.
func installed(t testing.TB) string {
	t.Helper()
	all := os.Getenv("LONGHAUL_TEST_WORLDS")
	if all == "" {
		t.Skip("LONGHAUL_TEST_WORLDS is not set: `make test` installs the MCP servers that this talks to")
	}
	return filepath.Join(all, "mcp")
}

func node(t testing.TB, server string) string {
	return "node '" + filepath.Join(installed(t), "node_modules/@modelcontextprotocol", server, "dist/index.js") + "'"
}

// everything is server-everything over HTTP, on a port of its own.
type everything struct {
	t       testing.TB
	port    int
	process *exec.Cmd
}

func serveEverything(t testing.TB) *everything {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &everything{t: t, port: l.Addr().(*net.TCPAddr).Port}
	l.Close()
	h.start()
	t.Cleanup(h.kill)
	return h
}

func (h *everything) url() string { return fmt.Sprintf("http://127.0.0.1:%d/mcp", h.port) }

func (h *everything) start() {
	h.process = exec.Command("node", filepath.Join(installed(h.t), "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp")
	h.process.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", h.port))
	h.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.process.Start(); err != nil {
		h.t.Fatal(err)
	}
	for range 600 {
		if res, err := http.Get(h.url()); err == nil {
			res.Body.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	h.t.Fatal("server-everything does not listen")
}

func (h *everything) kill() {
	syscall.Kill(-h.process.Process.Pid, syscall.SIGKILL)
	h.process.Wait()
}

// episodes plays the reference of every training task, side by side, and wants full reward.
func episodes(t testing.TB, w envs.World, n int) {
	t.Helper()
	var all sync.WaitGroup
	room := make(chan struct{}, 8)
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := played(w, w.Task(rl.Train, i%w.Count(rl.Train))); err != nil {
				t.Errorf("episode %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

func played(w envs.World, task rl.Task) error {
	e, ctx := envs.Guard(w.New(), w.Name), context.Background()
	defer e.Close()
	o, err := e.Reset(ctx, task)
	if err != nil {
		return err
	}
	messages, play := o.Messages, w.Reference(task)
	for turn := 0; ; turn++ {
		m := play(messages)
		messages = append(messages, m)
		if len(m.ToolCalls) == 0 {
			if _, err := e.Step(ctx, call(envs.FinalText, string(rl.CanonicalJSON(m.Content)))); err != nil {
				return err
			}
			break
		}
		r, err := e.Step(ctx, call(m.ToolCalls[0].Name, string(m.ToolCalls[0].Arguments)))
		if err != nil {
			return err
		}
		messages = append(messages, rl.Message{Role: rl.ToolRole, Content: r.Content})
	}
	s, err := e.Score(ctx)
	if err == nil && s.Value != 1 {
		err = fmt.Errorf("it earns %+v: %+v", s, messages)
	}
	return err
}

// The three servers and the tasks that they are tried with.
var (
	fileTasks = func() (tasks []Task) {
		for i := range 20 {
			tasks = append(tasks, Task{
				Goal:  fmt.Sprintf("write the sum of the numbers in numbers-%d.txt to sum.txt", i),
				Files: map[string]string{fmt.Sprintf("in/numbers-%d.txt", i): fmt.Sprintf("%d\n%d\n", i, 2*i)},
				Checks: []Check{{File: "sum.txt", Is: fmt.Sprint(3 * i)}, {File: "left.txt", Absent: true}, {Answer: true, Contains: fmt.Sprint(3 * i)},
					{Tool: "read_text_file", Arguments: []byte(`{"path":"/episode/sum.txt"}`), Contains: fmt.Sprint(3 * i)}},
				Solution: []Step{
					{Tool: "list_allowed_directories"},
					{Tool: "read_text_file", Arguments: fmt.Appendf(nil, `{"path":"/episode/in/numbers-%d.txt"}`, i)},
					{Tool: "write_file", Arguments: fmt.Appendf(nil, `{"path":"/episode/sum.txt","content":"%d"}`, 3*i)},
					{Answer: fmt.Sprintf("it is %d", 3*i)},
				},
			})
		}
		return tasks
	}()
	everythingTasks = []Task{
		{Goal: "echo", Checks: []Check{{Answer: true, Is: "hi"}}, Solution: []Step{{Tool: "echo", Arguments: []byte(`{"message":"hi"}`)}, {Answer: "hi"}}},
		{Goal: "add", Checks: []Check{{Tool: "get-sum", Arguments: []byte(`{"a":2,"b":3}`), Contains: "5"}}, Solution: []Step{{Tool: "get-sum", Arguments: []byte(`{"a":2,"b":3}`)}, {Answer: "5"}}},
	}
	timeTasks = []Task{{
		Goal: "when is noon of Tokyo in Paris?", Checks: []Check{{Answer: true, Matches: "^0[45]:00"}},
		Solution: []Step{{Tool: "convert_time", Arguments: []byte(`{"source_timezone":"Asia/Tokyo","time":"12:00","target_timezone":"Europe/Paris"}`)}, {Answer: "04:00"}},
	}}
)

func TestFilesystemServer(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: node(t, "server-filesystem") + " {dir}", Servers: 4, Reuse: 5}, fileTasks...)
	episodes(t, w, 20)
	e := begun(t, w)
	if got := step(t, e, "list_allowed_directories", `{}`); got != "Allowed directories:\n/episode" {
		t.Errorf("%q", got)
	}
	for arguments, want := range map[string]string{
		`{"path":"/etc/passwd"}`:             "error: Access denied",
		`{"path":"/episode/../../x"}`:        "error: Access denied",
		`{"path":"/episode/no-such"}`:        "error: ENOENT",
		`{"path":"/episode/a","head":"ten"}`: `bad call: "head" of read_text_file must be number, not string`,
	} {
		if got := step(t, e, "read_text_file", arguments); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", arguments, got)
		}
	}
	e.Close()
	closeAll(t, w)
}

// A world of a configuration, as run.yaml opens it: every reference earns full reward, in both splits.
func TestAWorldOfAFile(t *testing.T) {
	c := rl.EnvConfig{Use: "mcp", Tasks: rl.TasksConfig{Train: rl.TaskRange{Last: 5}, Eval: rl.TaskRange{Last: 2}},
		MCP: settings(rl.MCPConfig{Command: node(t, "server-filesystem") + " {dir}", Tasks: "testdata/files.jsonl", Reuse: 100})}
	w, err := envs.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range w.Splits() {
		for i := range w.Count(split) {
			if err := played(w, w.Task(split, i)); err != nil {
				t.Errorf("%s-%d: %v", split, i, err)
			}
		}
	}
	again, err := serversOf(w).World(nil)
	if err != nil || again.Digest == w.Digest {
		t.Errorf("other tasks have the same digest, or %v", err)
	}
	closeAll(t, w)
}

func TestEverythingServer(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: node(t, "server-everything"), CallTimeout: rl.Duration(time.Second), Reuse: 10}, everythingTasks...)
	episodes(t, w, 10)
	e := begun(t, w)
	if got := step(t, e, "get-tiny-image", `{}`); !strings.Contains(got, "[image, image/png, ") {
		t.Errorf("%q", got)
	}
	if got := step(t, e, "get-structured-content", `{"location":"New York"}`); !strings.Contains(got, "temperature") {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := e.Step(ctx, call("trigger-long-running-operation", `{"duration":100,"steps":2}`)); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("a hang: %v", err)
	}
	e.Close()
	closeAll(t, w)
}

func TestTimeServer(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: "'" + filepath.Join(installed(t), "bin/mcp-server-time") + "' --local-timezone=UTC", Effect: "pure", Reuse: 100, Servers: 2}, timeTasks...)
	episodes(t, w, 10)
	e := begun(t, w)
	if got := step(t, e, "get_current_time", `{"timezone":"Mars/Olympus"}`); !strings.HasPrefix(got, "error: ") {
		t.Errorf("%q", got)
	}
	e.Close()
	closeAll(t, w)
}

// A session over HTTP is an episode's own; when the server forgets it, or is started again, the state is lost and the episode with it.
func TestHTTPSessionsAreLost(t *testing.T) {
	h := serveEverything(t)
	w := opened(t, rl.MCPConfig{URL: h.url()}, everythingTasks...)
	episodes(t, w, 10)
	forgotten, restarted, killed := begun(t, w), begun(t, w), begun(t, w)
	if id := forgotten.(*env).server.session.ID(); id == "" || id == restarted.(*env).server.session.ID() {
		t.Errorf("the session %q is shared", id)
	}
	if _, err := forgotten.Step(t.Context(), call("echo", `{"message":"hi"}`)); err != nil {
		t.Error(err)
	}
	drop, _ := http.NewRequest(http.MethodDelete, h.url(), nil)
	drop.Header.Set("Mcp-Session-Id", forgotten.(*env).server.session.ID())
	drop.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	if res, err := http.DefaultClient.Do(drop); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	lost := func(what string, e envs.Env, tool, arguments string) {
		t.Helper()
		for range 2 {
			began := time.Now()
			if r, err := e.Step(t.Context(), call(tool, arguments)); rl.KindOf(err) != rl.Unavailable || time.Since(began) > 20*time.Second {
				t.Errorf("%s: %+v, %v after %v", what, r, err, time.Since(began))
			}
		}
	}
	lost("a deleted session", forgotten, "echo", `{"message":"hi"}`)
	gone := make(chan struct{})
	time.AfterFunc(time.Second, func() { h.kill(); close(gone) })
	lost("a server that is killed in mid-call", killed, "trigger-long-running-operation", `{"duration":100,"steps":2}`)
	<-gone
	h.start()
	lost("a server that was started again", restarted, "echo", `{"message":"hi"}`)
	episodes(t, w, 4)
	closeAll(t, w)
}

// closeAll ends what a world keeps for the next episodes, and counts what is left.
func closeAll(t testing.TB, w envs.World) {
	t.Helper()
	serversOf(w).Close()
	none(t)
}

// A thousand episodes, with LONGHAUL_TEST_EPISODES: nothing is left of them, no process, goroutine, file or directory, and no memory.
// Of those with a server each there are a tenth: starting it is nearly all that they do.
func TestManyEpisodes(t *testing.T) {
	n := 20
	fmt.Sscan(os.Getenv("LONGHAUL_TEST_EPISODES"), &n)
	h := serveEverything(t)
	for _, c := range []struct {
		name   string
		config rl.MCPConfig
		tasks  []Task
		n      int
	}{
		{"filesystem, fresh", rl.MCPConfig{Command: node(t, "server-filesystem") + " {dir}", Servers: 4}, fileTasks, max(n/10, 4)},
		{"filesystem, reused", rl.MCPConfig{Command: node(t, "server-filesystem") + " {dir}", Servers: 4, Reuse: 1000}, fileTasks, n},
		{"everything, HTTP", rl.MCPConfig{URL: h.url(), Servers: 8}, everythingTasks, n},
		{"time, shared", rl.MCPConfig{Command: "'" + filepath.Join(installed(t), "bin/mcp-server-time") + "'", Share: "worker", Effect: "pure"}, timeTasks, n},
	} {
		w := opened(t, c.config, c.tasks...)
		episodes(t, w, 8)
		before := measured()
		began := time.Now()
		episodes(t, w, c.n)
		took := time.Since(began)
		serversOf(w).network.(*http.Transport).CloseIdleConnections()
		after := measured()
		closeAll(t, w)
		t.Logf("%-20s %d episodes in %v; before and after: %s, %s", c.name, c.n, took.Round(time.Millisecond), before, after)
		if after.files > before.files+8 || after.goroutines > before.goroutines+20 || after.heap > before.heap+8<<20 {
			t.Errorf("%s leaks: %s, then %s", c.name, before, after)
		}
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("longhaul-children-%d", os.Getuid()), fmt.Sprintf("%d-*", os.Getpid()), "*"))
	if len(left) > 0 || child.Left() > 0 {
		t.Errorf("%d processes are left, and %d directories", child.Left(), len(left))
	}
}

// resources are what a leak would use up.
type resources struct {
	files, goroutines int
	heap              uint64
}

func (r resources) String() string {
	return fmt.Sprintf("%d files, %d goroutines, %.1f MB", r.files, r.goroutines, float64(r.heap)/1e6)
}

func measured() resources {
	time.Sleep(200 * time.Millisecond)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd")
	return resources{len(files), runtime.NumGoroutine(), m.HeapAlloc}
}
