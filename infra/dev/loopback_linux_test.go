package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every listening socket of a process with all parts running is on 127.0.0.1 (0100007F in /proc/net/tcp).
func TestEverythingListensOnLoopbackAlone(t *testing.T) {
	d, err := Start(t.Context(), Options{Dir: t.TempDir(), Temporal: true, S3: true, UI: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	ours := map[string]bool{}
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, "socket:[") {
			ours[strings.Trim(to, "socket:[]")] = true
		}
	}
	listening := 0
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line) // sl, local address, remote, state (0A = listen), ..., inode at 9
			if len(f) < 10 || f[3] != "0A" || !ours[f[9]] {
				continue
			}
			listening++
			if !strings.HasPrefix(f[1], "0100007F:") {
				t.Errorf("listens on %s (%s)", f[1], table)
			}
		}
	}
	if listening < 7 { // frontend gRPC and HTTP, history, matching, worker, UI, S3
		t.Errorf("%d listening sockets", listening)
	}
}
