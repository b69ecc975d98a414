package workers_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/store"
)

// The same run on a Temporal server and an S3 server that are processes of their own, reached by the environment
// alone, ends with the checkpoint that the embedded ones give.
//
// LONGHAUL_TEST_TEMPORAL and LONGHAUL_TEST_MOTO name the two executables (make test installs them). Without them the
// embedded run is compared with a second embedded run, in another directory.
func TestSeparateServersSameBytes(t *testing.T) {
	embedded := open(t, t.TempDir(), 2)
	want := embedded.run(t, small(t)).Checkpoint
	embedded.close()
	temporal, moto := os.Getenv("LONGHAUL_TEST_TEMPORAL"), os.Getenv("LONGHAUL_TEST_MOTO")
	other := func() *line { return open(t, t.TempDir(), 2) }
	if temporal != "" && moto != "" {
		other = func() *line { return separate(t, temporal, moto) }
	}
	if out := other().run(t, small(t)); out.Checkpoint != want {
		t.Fatalf("ended with %+v, embedded with %+v", out.Checkpoint, want)
	}
}

// separate starts the two servers and points the environment at them.
func separate(t *testing.T, temporal, moto string) *line {
	t.Helper()
	front, s3 := freePort(t), freePort(t)
	spawn(t, temporal, "server", "start-dev", "--headless", "--port", port(front), "--db-filename", filepath.Join(t.TempDir(), "temporal.db"), "--log-level", "error")
	spawn(t, moto, "-H", "127.0.0.1", "-p", port(s3))
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": "http://" + s3, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest",
	} {
		t.Setenv(name, value)
	}
	makeBucket(t, "http://"+s3+"/runs")
	l := &line{uri: "s3://runs/tests", namespace: "default", stop: func() error { return nil }}
	l.openStore = func(ctx context.Context, uri string) (*store.Store, error) {
		return store.Open(ctx, uri, store.Options{})
	}
	var err error
	if l.store, err = l.openStore(t.Context(), l.uri); err != nil {
		t.Fatal(err)
	}
	awaitTemporal(t, front)
	l.dial(t, front)
	t.Cleanup(l.close)
	l.workOn(t, 2)
	return l
}

// spawn runs a server until the test's end.
func spawn(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// makeBucket waits for the S3 server and makes a bucket on it.
func makeBucket(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no bucket at %s: %v", url, err)
		}
	}
}

// awaitTemporal waits until the namespace is there: the server answers a moment before.
func awaitTemporal(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		c, err := client.DialContext(t.Context(), client.Options{HostPort: address})
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
