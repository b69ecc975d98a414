//go:build unix

package launch

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A log takes bounded room on disk, however much a job writes, and has its end.
func TestLocalLogIsBounded(t *testing.T) {
	const talking = "#!/bin/sh\ntouch begun\nfor i in 1 2 3; do seq 1000000; echo round $i; while [ ! -e ../go$i ]; do sleep 0.01; done; done\n"
	g, job := newLocalGround(t, talking), aJob(t)
	l, d := g.open(t), g.place(job)
	ensure(t, l, job, 1)
	for _, round := range []string{"1", "2", "3"} {
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			r, err := l.Logs(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if r.Close(); err != nil || time.Now().After(end) {
				t.Fatalf("round %s is not reached: %v", round, err)
			}
			if bytes.HasSuffix(b, []byte("\n999999\n1000000\nround "+round+"\n")) {
				break
			}
		}
		if s, err := l.Poll(t.Context(), job); err != nil || s.State != Running {
			t.Fatalf("%+v, %v", s, err)
		}
		now, before := size(t, d.file(1, "log.txt")), size(t, d.file(1, "log.1.txt"))
		if now != 0 || before != logLimit {
			t.Errorf("after round %s there are %d and %d bytes", round, before, now)
		}
		if err := os.WriteFile(filepath.Join(string(d), "go"+round), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	await(t, l, job, 1, Done)
	r, err := l.Logs(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || len(b) != logLimit || !strings.HasSuffix(string(b), "round 3\n") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	s, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return s.Size()
}
