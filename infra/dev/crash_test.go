package dev

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/server/common/log/tag"

	"github.com/longhaul-rl/longhaul/rl"
)

const childDir = "LONGHAUL_TEST_DEV_CHILD"

// TestMain turns this test program into the holder of a directory when a test runs it again as a child.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child starts everything and a worker whose second activity never ends; it stops when its input ends.
func child(dir string) error {
	d, err := Start(context.Background(), Options{Dir: dir, Temporal: true, S3: true, UI: true})
	if err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: d.Process().Temporal, Namespace: Namespace, Logger: quiet()})
	if err != nil {
		return err
	}
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(twoSteps)
	w.RegisterActivityWithOptions(func(ctx context.Context, name string) (string, error) {
		fmt.Println("step", name)
		if name == "second" {
			<-ctx.Done()
		}
		return name, ctx.Err()
	}, activity.RegisterOptions{Name: "Step"})
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	w.Stop()
	c.Close()
	return d.Stop()
}

// holderProcess is a running child.
type holderProcess struct {
	*exec.Cmd
	out    *bufio.Scanner
	errors bytes.Buffer
	stop   func()
}

func startChild(t *testing.T, dir string) *holderProcess {
	t.Helper()
	h := &holderProcess{Cmd: exec.Command(os.Args[0])}
	h.Env = append(os.Environ(), childDir+"="+dir)
	h.Stderr = &h.errors
	in, err := h.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewScanner(out)
	h.stop = func() { in.Close() }
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Process.Kill(); h.Wait() })
	return h
}

// expect reads the child's output up to the given line.
func (h *holderProcess) expect(t *testing.T, line string) {
	t.Helper()
	for h.out.Scan() {
		if h.out.Text() == line {
			return
		}
		if strings.HasPrefix(h.out.Text(), "error:") {
			t.Fatal(h.out.Text())
		}
	}
	t.Fatalf("the child ended before %q; stderr: %s", line, h.errors.String())
}

func TestAKilledHoldersActivitiesAreRetriedAtOnce(t *testing.T) {
	dir := t.TempDir()
	h := startChild(t, dir)
	h.expect(t, "ready")

	_, err := Start(t.Context(), Options{Dir: dir})
	if rl.KindOf(err) != rl.Conflict {
		t.Fatalf("a second holder: want conflict, got %v", err)
	}
	for _, part := range []string{dir + " is held by", fmt.Sprintf("process %d (", h.Process.Pid), ", started "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	p, ok, err := Attach(dir)
	if err != nil || !ok || p.PID != h.Process.Pid {
		t.Fatalf("Attach: %+v, %v, %v", p, ok, err)
	}
	c, err := client.Dial(client.Options{HostPort: p.Temporal, Namespace: Namespace, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SignalWithStartWorkflow(t.Context(), "wf", proceed, nil, client.StartWorkflowOptions{TaskQueue: queue}, twoSteps); err != nil {
		t.Fatal(err)
	}
	h.expect(t, "step second")
	c.Close()
	if err := h.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	h.Wait()

	began := time.Now()
	if _, ok, err := Attach(dir); ok || err != nil {
		t.Errorf("Attach after the holder's death: %v, %v", ok, err)
	}
	d, c := begin(t, dir)
	up := time.Since(began)
	n, err := d.FailOrphans(t.Context(), c, "wf", "no such workflow")
	if err != nil || n != 1 {
		t.Fatalf("FailOrphans: %d, %v", n, err)
	}
	retried := make(chan int32, 10)
	defer work(t, c, func(ctx context.Context, name string) (string, error) {
		retried <- activity.GetInfo(ctx).Attempt
		return name, nil
	})()
	if attempt := <-retried; attempt != 2 {
		t.Errorf("want attempt 2, got %d", attempt)
	}
	took := time.Since(began)
	t.Logf("server up after %v, the activity was running again after %v", up, took)
	if took > 2*time.Minute { // well below the heartbeat timeout
		t.Errorf("the retry waited %v", took)
	}
	var got string
	if err := c.GetWorkflow(t.Context(), "wf", "").Get(t.Context(), &got); err != nil || got != "first second" {
		t.Errorf("workflow: %q, %v", got, err)
	}
	t.Logf("done after %v", time.Since(began))
}

func TestFailOrphansIsForTheEmbeddedServerOnly(t *testing.T) {
	d, err := Start(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	if _, err := d.FailOrphans(t.Context(), nil, "wf"); rl.KindOf(err) != rl.Refused {
		t.Errorf("want refused, got %v", err)
	}
}

func TestATakenPortIsAnErrorAndNotAnExit(t *testing.T) {
	squatter, err := listenFree()
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	db, err := openDatabase(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg, hosts, err := serverConfig(portOf(squatter), db)
	if err != nil {
		t.Fatal(err)
	}
	exit := func(why string) { t.Errorf("would have ended the process: %s", why) }
	if _, err := runServer(cfg, hosts, newServerLog(io.Discard, exit)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}

func TestNothingReachesTheTerminal(t *testing.T) {
	dir := t.TempDir()
	h := startChild(t, dir)
	h.expect(t, "ready")
	h.stop()
	for h.out.Scan() {
		t.Errorf("printed %q", h.out.Text())
	}
	if err := h.Wait(); err != nil {
		t.Error(err)
	}
	if h.errors.Len() > 0 {
		t.Errorf("stderr: %s", h.errors.String())
	}
	if b, err := os.ReadFile(filepath.Join(dir, logFile)); err != nil || len(b) > 0 {
		t.Errorf("a quiet run leaves an empty log, got %v:\n%s", err, b)
	}
}

// A server's call that failed because nobody waits for it any more is no failure.
func TestTheLogTellsOfFailuresAlone(t *testing.T) {
	var said bytes.Buffer
	l := newServerLog(&said, nil)
	l.Error("cannot poll", tag.Error(context.Canceled))
	if said.Len() > 0 {
		t.Error(said.String())
	}
	if l.Error("cannot poll", tag.Error(io.ErrUnexpectedEOF)); !strings.Contains(said.String(), "level=ERROR msg=\"cannot poll\" error=\"unexpected EOF\"") {
		t.Error(said.String())
	}
}

// A workflow task that its worker took and never answered times out after 10 s; it must not have to.
func TestALostWorkflowTaskIsGivenOutAgainAtOnce(t *testing.T) {
	dir := t.TempDir()
	d, c := begin(t, dir)
	lost := 2 * time.Minute // the longest that Temporal waits for a worker that has a task
	if _, err := c.SignalWithStartWorkflow(t.Context(), "wf", proceed, nil, client.StartWorkflowOptions{TaskQueue: queue, WorkflowTaskTimeout: lost}, twoSteps); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	taken, err := c.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: Namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, Identity: "a worker that dies",
	})
	if err != nil || len(taken.GetTaskToken()) == 0 {
		t.Fatalf("no workflow task to take: %v", err)
	}
	c.Close()
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	d, c = begin(t, dir)
	n, err := d.FailOrphans(t.Context(), c) // finds the workflow by itself
	if err != nil || n != 1 {
		t.Fatalf("FailOrphans: %d, %v", n, err)
	}
	defer work(t, c, func(_ context.Context, name string) (string, error) { return name, nil })()
	var got string
	if err := c.GetWorkflow(t.Context(), "wf", "").Get(t.Context(), &got); err != nil || got != "first second" {
		t.Errorf("workflow: %q, %v", got, err)
	}
	took := time.Since(began)
	t.Logf("done after %v", took)
	if took > lost/2 {
		t.Errorf("the workflow waited %v", took)
	}
}
