package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
)

// A store that ignores conditional writes, as rclone serve s3 does, is refused by doctor and before a run is started: two
// jobs would overwrite each other's results there. Nothing of the run is written to it.
func TestStoreWithoutConditionsIsRefused(t *testing.T) {
	memory := s3mem.New()
	if err := memory.CreateBucket(context.Background(), "bucket"); err != nil {
		t.Fatal(err)
	}
	var written []string
	plain := gofakes3.New(memory).Server() // without keys it checks no signature
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			r.Header.Del("If-None-Match")
			r.Header.Del("If-Match")
			r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
			if !strings.Contains(r.URL.Path, "/check/") {
				written = append(written, r.URL.Path)
			}
		}
		plain.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	dir := t.TempDir()
	file, data := filepath.Join(dir, "run.yaml"), filepath.Join(dir, "data")
	if err := os.WriteFile(file, []byte("name: a\nenv: {use: orders}\nstore: s3://bucket/runs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor", "-f", file}, {"train", "-f", file}} {
		cmd := command(append(args, "--data", data)...)
		cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL_S3="+front.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(out), "ignores If-None-Match") {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
	if len(written) > 0 {
		t.Errorf("written all the same: %q", written)
	}
}
