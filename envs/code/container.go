package code

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// manyProcesses is no limit to speak of: rlimits count those of a user in all containers, the runtime those of one.
const manyProcesses = 4096

// engine is a container runtime with docker's command line: podman or docker. What it runs is its own, and outlives the command that
// started it: so each container has a name that says until when it may be there.
type engine struct {
	name, image string
	bounds      bounds
}

// newContainer is a sandbox of a container runtime, which keeps the limits.
func newContainer(b bounds, name, image string) *box {
	e := engine{name: name, image: image, bounds: b}
	within := b
	within.processes = manyProcesses
	out := newBox(name, within)
	out.ready, out.command = e.ready, e.command
	out.watch = func(_ *exec.Cmd, _ bounds, gone <-chan struct{}) string { <-gone; return "" }
	return out
}

// missing is in what runtimes say of an image that they do not have.
var missing = regexp.MustCompile(`(?i)no such image|image not known`)

// ready looks whether the image is there, and takes away containers that workers left which were killed.
func (e engine) ready(ctx context.Context) error {
	if said, err := exec.CommandContext(ctx, e.name, "image", "inspect", "--format", "{{.Id}}", e.image).CombinedOutput(); err != nil && missing.Match(said) {
		return rl.Errorf(rl.Invalid, "env.code.image", "%s has no image %s: pull it", e.name, e.image)
	}
	list, err := exec.CommandContext(ctx, e.name, "ps", "--all", "--filter", "name=longhaul-", "--format", "{{.Names}}").Output()
	if err != nil {
		return nil // making a box says why
	}
	for name := range strings.FieldsSeq(string(list)) {
		if overstayed(name, time.Now()) {
			e.remove(name)
		}
	}
	return nil
}

// until names a container, or a box of bubblewrap, that may be there until then.
func until(then time.Time) string {
	return fmt.Sprintf("longhaul-%d-%s", then.Unix(), strings.ToLower(rand.Text()[:12]))
}

var boxName = regexp.MustCompile(`^longhaul-([0-9]+)-[a-z0-9]{12}$`)

// overstayed reports whether a name is of a box of ours whose time is over.
func overstayed(name string, now time.Time) bool {
	m := boxName.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	then, err := strconv.ParseInt(m[1], 10, 64)
	return err == nil && now.Unix() > then
}

// removing is how long a runtime may take to end a container.
const removing = 30 * time.Second

// remove ends a container, if it is there.
func (e engine) remove(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), removing)
	defer cancel()
	_ = exec.CommandContext(ctx, e.name, "kill", name).Run() // or podman asks it to end, and waits for that; it may be gone
	said, err := exec.CommandContext(ctx, e.name, "rm", "--force", name).CombinedOutput()
	if err != nil && !strings.Contains(strings.ToLower(string(said)), "no such container") {
		envs.Log.Error("a container cannot be removed: what runs in it may go on", "runtime", e.name, "container", name, "error", err, "says", string(said))
	}
}

func (e engine) command(args []string) (*exec.Cmd, func(), error) {
	path, err := exec.LookPath(e.name)
	if err != nil {
		return nil, nil, rl.Errorf(rl.Invalid, "env.code.runtime", "%s is not installed: %w", e.name, err)
	}
	life := e.bounds.time + startUp + removing
	name := until(time.Now().Add(life))
	memory := strconv.FormatInt(e.bounds.memory, 10)
	scratch := fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", e.bounds.disk.memory())
	flags := []string{"run", "--rm", "--name", name, "--pull", "never", "--interactive", "--network", "none", "--read-only", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", "--user", "65534:65534", "--pids-limit", strconv.Itoa(e.bounds.processes + 8),
		"--ulimit", "nofile=256:256", "--ulimit", fmt.Sprintf("nproc=%d:%[1]d", manyProcesses),
		"--memory", memory, "--memory-swap", memory, "--cpus", "1", "--shm-size", "1m", "--tmpfs", "/task:" + scratch, "--tmpfs", "/tmp:" + scratch,
		"--env", "HOME=/task", "--env", "PYTHONHASHSEED=0", "--env", "PYTHONDONTWRITEBYTECODE=1", "--workdir", "/task", "--entrypoint", "sh"}
	if e.name == "podman" { // it adds directories in memory of any size otherwise; and it ends a container whose worker cannot
		flags = append(flags, "--read-only-tmpfs=false", "--timeout", strconv.Itoa(int(life/time.Second)))
	}
	c := exec.Command(path, append(append(flags, e.image, "-c", wrapper, "sandbox"), args...)...)
	c.Dir = os.TempDir() // where podman's monitor makes a file named oom when a program takes too much memory
	return c, func() { e.remove(name) }, nil
}
