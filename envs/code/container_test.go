package code

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// runtimeScript is a container runtime as far as what is left of its containers goes: a container is a process of its own, which lives on
// when the command that started it is killed, until it is removed by its name. Like podman it leaves a file where it was started.
const runtimeScript = `#!/bin/sh
cd "$(dirname "$0")/containers"
case $1 in
run)
	touch "$OLDPWD/oom"
	while [ "$1" != --name ]; do shift; done
	setsid sleep 300 >/dev/null 2>&1 &
	echo $! >"$2"
	wait ;;
rm) rm "$3" ;;
kill) kill -9 "$(cat "$2")" ;;
ps) ls ;;
image) [ "$5" = here ] || { echo "Error: $5: image not known" >&2; exit 125; } ;;
esac
`

// runtimeHere is that runtime, and the directory that has a file of each container with its process.
func runtimeHere(t *testing.T, name string) (containers string) {
	dir := t.TempDir()
	containers = filepath.Join(dir, "containers")
	if err := os.Mkdir(containers, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(runtimeScript), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return containers
}

// A program whose time is over ends with its container, whatever the runtime's command was at.
func TestNoContainerIsLeft(t *testing.T) {
	containers := runtimeHere(t, "docker")
	box := newContainer(usual, "docker", "image")
	pid := 0
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for pid == 0 {
			time.Sleep(20 * time.Millisecond)
			if files, _ := filepath.Glob(containers + "/*"); len(files) == 1 {
				b, _ := os.ReadFile(files[0])
				pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
			}
		}
	}()
	if _, err := box.run(ctx, tree{}, program{language: python, source: "while True: pass", most: 100}); err == nil {
		t.Error("it has ended")
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // it was killed, and is seen for a moment longer
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("process %d of the container goes on", pid)
		}
	}
	if _, err := os.Stat("oom"); err == nil {
		t.Error("there is a file oom where this process runs")
	}
	if left, _ := filepath.Glob(containers + "/*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// What a worker left that was killed is removed by the next, once its time is over, and nothing else is. An image that is not there
// is said.
func TestContainersThatOverstay(t *testing.T) {
	containers := runtimeHere(t, "docker")
	now := time.Now()
	old, other := until(now.Add(-time.Minute)), until(now.Add(time.Minute))
	want := []string{other, "longhaul-99999999999999999999-abcdefghijkl", "longhaul-web", "web"}
	for _, name := range append([]string{old}, want...) {
		if err := os.WriteFile(filepath.Join(containers, name), []byte("999999999"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := (engine{name: "docker", image: "here"}).ready(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(containers)
	if err != nil || len(left) != len(want) {
		t.Errorf("%v, %v", left, err)
	}
	for _, name := range want {
		if _, err := os.Stat(filepath.Join(containers, name)); err != nil {
			t.Error(err)
		}
	}
	if err := (engine{name: "docker", image: "elsewhere"}).ready(t.Context()); rl.KindOf(err) != rl.Invalid || err.Error() != "env.code.image: docker has no image elsewhere: pull it" {
		t.Error(err)
	}
}
