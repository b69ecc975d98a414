package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/store"
)

// servers is a command of the test binary: Temporal and S3 in a process of their own, on the directory SERVERS.
func servers() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d, err := dev.Start(ctx, dev.Options{Dir: os.Getenv("SERVERS"), Temporal: true, S3: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	<-ctx.Done()
	d.Stop()
}

// process is a part that is killed and started again.
type process struct {
	name  string
	start func() *exec.Cmd
	cmd   *exec.Cmd
	errs  bytes.Buffer
}

func (p *process) run(t *testing.T) {
	t.Helper()
	p.cmd = p.start()
	p.cmd.Stderr = &p.errs
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// partsKills is how often parts are killed; each costs up to a heartbeat's timeout.
const partsKills = 2

// Two workers, and the servers that they work on, are processes of their own, and one or more of them are killed again
// and again. The run ends as if nothing had happened.
func TestKilledPartsEndTheSame(t *testing.T) {
	want := newCrashing(t).end(t)
	both, p := startServers(t)
	got := survive(t, outside(p), []*process{both}, func(ctx context.Context) (*store.Store, error) {
		return store.Open(ctx, "s3://"+dev.Bucket, store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey})
	})
	if got != want {
		t.Fatalf("the run ends with\n%+v, undisturbed with\n%+v", got, want)
	}
}

// startServers starts Temporal and S3 in a process of their own, and says where they are: started again they are there again.
func startServers(t *testing.T) (*process, dev.Process) {
	t.Helper()
	dir := t.TempDir()
	both := &process{name: "servers", start: func() *exec.Cmd {
		cmd := command()
		cmd.Args, cmd.Env = []string{"servers"}, append(cmd.Env, "SERVERS="+dir)
		return cmd
	}}
	both.run(t)
	t.Cleanup(both.kill)
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		p, ok, err := dev.Attach(dir)
		if ok && err == nil {
			return both, p
		}
		if time.Now().After(end) {
			t.Fatalf("no servers: %v\n%s", err, both.errs.String())
		}
	}
}

// outside is the environment by which a command reaches servers of another process.
func outside(p dev.Process) []string {
	return []string{
		"TEMPORAL_ADDRESS=" + p.Temporal, "TEMPORAL_NAMESPACE=" + dev.Namespace, "LONGHAUL_STORE=s3://" + dev.Bucket,
		"AWS_ENDPOINT_URL_S3=" + p.S3, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + p.AccessKey, "AWS_SECRET_ACCESS_KEY=" + p.SecretKey,
	}
}

// The same on a Temporal server with a database of its own, which is killed too, and an S3 server, both by other
// programs (LONGHAUL_TEST_TEMPORAL, LONGHAUL_TEST_MOTO). Moto keeps its objects in memory, so it is not killed.
func TestKilledPartsOutside(t *testing.T) {
	temporal, moto := os.Getenv("LONGHAUL_TEST_TEMPORAL"), os.Getenv("LONGHAUL_TEST_MOTO")
	if temporal == "" || moto == "" {
		t.Skip("LONGHAUL_TEST_TEMPORAL and LONGHAUL_TEST_MOTO name no servers; make test installs them")
	}
	want := newCrashing(t).end(t)
	front, s3 := free(t), free(t)
	port := func(address string) string { return address[strings.LastIndex(address, ":")+1:] }
	database := filepath.Join(t.TempDir(), "temporal.db")
	server := &process{name: "Temporal", start: func() *exec.Cmd {
		return exec.Command(temporal, "server", "start-dev", "--headless", "--port", port(front), "--db-filename", database, "--log-level", "error")
	}}
	objects := &process{name: "S3", start: func() *exec.Cmd { return exec.Command(moto, "-H", "127.0.0.1", "-p", port(s3)) }}
	for _, p := range []*process{server, objects} {
		p.run(t)
		t.Cleanup(p.kill)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+s3+"/runs", nil)
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no bucket: %v", err)
		}
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) { // a command that finds no Temporal ends
		if c, err := net.Dial("tcp", front); err == nil {
			c.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	outside := []string{
		"TEMPORAL_ADDRESS=" + front, "LONGHAUL_STORE=s3://runs/tests", "AWS_ENDPOINT_URL_S3=http://" + s3,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=testtest",
	}
	got := survive(t, outside, []*process{server}, func(ctx context.Context) (*store.Store, error) {
		return store.Open(ctx, "s3://runs/tests", store.Options{Endpoint: "http://" + s3, AccessKey: "test", SecretKey: "testtest"})
	})
	if got != want {
		t.Fatalf("the run ends with\n%+v, undisturbed with\n%+v", got, want)
	}
}

// survive trains on parts outside, with two workers, kills workers and the given others every few seconds, and reads
// what the run left.
func survive(t *testing.T, outside []string, others []*process, open func(context.Context) (*store.Store, error)) remains {
	t.Helper()
	c := newCrashing(t)
	with := func(args ...string) *exec.Cmd {
		cmd := command(args...)
		cmd.Env = append(cmd.Env, outside...)
		return cmd
	}
	all := others
	for _, name := range []string{"worker 1", "worker 2"} {
		w := &process{name: name, start: func() *exec.Cmd { return with("worker") }}
		w.run(t)
		t.Cleanup(w.kill)
		all = append(slices.Clip(all), w)
	}
	train := with("train", "-f", c.file, "--json", "--quiet")
	var out, errs bytes.Buffer
	train.Stdout, train.Stderr = &out, &errs
	if err := train.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- train.Wait() }()
	s, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A command that finds no servers when it starts says so and ends; it is the run that survives.
	for launched := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := s.Head(t.Context(), store.TasksKey("killed", 1)); err == nil {
			break
		}
		if time.Since(launched) > 3*time.Minute {
			t.Fatalf("the run does not begin\n%s%s", out.String(), errs.String())
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range asked(t, partsKills) {
		select {
		case err := <-ended:
			ended <- err
		case <-time.After(3 * time.Second):
		}
		victims := []*process{all[rng.IntN(len(all))]}
		if i%3 == 2 { // several at once
			victims = all[:2]
		}
		for _, v := range victims {
			v.kill()
		}
		for _, v := range victims {
			t.Logf("kill %d: %s", i+1, v.name)
			v.run(t)
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("train: %v\n%s%s", err, out.String(), errs.String())
		}
	case <-time.After(4 * time.Minute):
		train.Process.Signal(syscall.SIGQUIT)
		t.Fatalf("the run does not end\n%s%s", out.String(), errs.String())
	}
	return remainsOf(t, s, "killed", doneOf(t, out.Bytes()))
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
