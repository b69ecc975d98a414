package code

import (
	"fmt"
	"os/exec"
	"strconv"

	"github.com/longhaul-rl/longhaul/rl"
)

// manyProcesses is no limit to speak of: rlimits count those of a user in all containers, the runtime those of one.
const manyProcesses = 4096

// newContainer is a sandbox of a container runtime with docker's command line: podman or docker. The runtime keeps the limits.
func newContainer(b bounds, engine, image string) *box {
	within := b
	within.processes = manyProcesses
	out := newBox(engine, within)
	out.command = func(args []string) (*exec.Cmd, error) {
		path, err := exec.LookPath(engine)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, "env.code.runtime", "%s is not installed: %w", engine, err)
		}
		memory := strconv.FormatInt(b.memory, 10)
		scratch := fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", b.disk.bytes)
		flags := []string{"run", "--rm", "--interactive", "--network", "none", "--read-only", "--cap-drop", "ALL",
			"--security-opt", "no-new-privileges", "--user", "65534:65534", "--pids-limit", strconv.Itoa(b.processes + 8),
			"--ulimit", "nofile=256:256", "--ulimit", fmt.Sprintf("nproc=%d:%[1]d", manyProcesses),
			"--memory", memory, "--memory-swap", memory, "--cpus", "1", "--shm-size", "1m", "--tmpfs", "/task:" + scratch, "--tmpfs", "/tmp:" + scratch,
			"--env", "HOME=/task", "--env", "PYTHONHASHSEED=0", "--env", "PYTHONDONTWRITEBYTECODE=1", "--workdir", "/task"}
		if engine == "podman" { // it adds directories in memory of any size otherwise
			flags = append(flags, "--read-only-tmpfs=false")
		}
		return exec.Command(path, append(append(flags, image, "sh", "-c", wrapper, "sandbox"), args...)...), nil
	}
	out.watch = func(_ *exec.Cmd, _ bounds, gone <-chan struct{}) string { <-gone; return "" }
	return out
}
