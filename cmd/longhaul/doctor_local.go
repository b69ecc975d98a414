package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/kern"
)

// checkKernel says what the embedded policy computes with.
func (a *app) checkKernel() check {
	const name = "embedded policy"
	mode, err := kernel()
	if err != nil {
		return verdict(name, "", "unset "+kern.Variable, err)
	}
	threads, err := a.threads()
	return verdict(name, fmt.Sprintf("it computes with %s, threads: %d", mode, threads), "unset LONGHAUL_THREADS, or give it a number", err)
}

// kernel is the instruction set in use. The error is Invalid, for a LONGHAUL_KERNEL that cannot be followed.
func kernel() (string, error) {
	mode, err := kern.Mode()
	if err != nil {
		return "", rl.Errorf(rl.Invalid, "environment", "%w", err)
	}
	return mode, nil
}

// roomWanted is the free space below which doctor warns: a few runs of the demo.
const roomWanted = 1 << 30

// checkDirectory tries the data directory, or the place where it would be made.
func (a *app) checkDirectory() []check {
	const name = "data directory"
	dir := a.data
	info, err := os.Stat(dir)
	found := ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		dir = filepath.Dir(filepath.Clean(dir))
		found = fmt.Sprintf("%s is not there yet; `longhaul demo` or `longhaul up` makes it", a.data)
	case err != nil:
		return []check{verdict(name, "", "name another with --data", err)}
	case !info.IsDir():
		return []check{verdict(name, "", "name another with --data", fmt.Errorf("%s is a file", dir))}
	}
	if err := writable(dir); err != nil {
		return []check{verdict(name, "", fmt.Sprintf("make %s writable, or name another with --data", dir), err)}
	}
	if found == "" {
		if found, err = lockState(a.data); err != nil {
			return []check{verdict(name, "", "try again in a moment", err)}
		}
	}
	return []check{{Name: name, State: fine, Found: found}, checkRoom(dir)}
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

func lockState(dir string) (string, error) {
	p, held, err := dev.Attach(dir)
	if err != nil {
		return "", err
	}
	if held {
		return fmt.Sprintf("%s is held by process %d since %s", dir, p.PID, p.Started.Local().Format("2006-01-02 15:04")), nil
	}
	return dir + " is writable and free", nil
}

func checkRoom(dir string) check {
	free, err := freeBytes(dir)
	if err != nil {
		return check{Name: "disk", State: warning, Found: "free space is not known: " + err.Error()}
	}
	c := check{Name: "disk", State: fine, Found: size(free) + " free"}
	if free < roomWanted {
		c.State, c.Mend = warning, "make room: the store and the workflows' database grow with every update"
	}
	return c
}

// awayMend is what to do about an environment that cannot be opened, where it is a server that does not answer.
func awayMend(c rl.EnvConfig, err error) string {
	for key, url := range map[string]string{"env.openenv.url": c.OpenEnv.URL, "env.mcp.url": c.MCP.URL} {
		if url != "" && rl.KindOf(err) == rl.Unavailable {
			return "is " + key + " right, and does the server run?"
		}
	}
	return ""
}

// checkEnvironment resets the environment on its first training task, and plays the references of one whose tasks are counted.
func checkEnvironment(ctx context.Context, cfg rl.Config) []check {
	name := "environment " + cfg.Env.Use
	w, err := envs.Open(ctx, cfg.Env) // has limits of its own, such as env.process.start_timeout
	if err != nil {
		return []check{verdict(name, "", awayMend(cfg.Env, err), err)}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	env := w.New()
	defer env.Close()
	task := w.Task(rl.Train, cfg.Env.Tasks.Train.First)
	_, err = env.Reset(ctx, task)
	checks := []check{verdict(name, fmt.Sprintf("%s begins; %d tools", task.ID, len(env.Spec().Tools)), "see what it says above", err)}
	if wrong := suits(w, cfg); err == nil && wrong != nil {
		checks = append(checks, verdict("tasks", "", "", wrong))
	}
	if err == nil && w.Count != nil && w.Reference != nil {
		checks = append(checks, checkReferences(ctx, w, cfg))
	}
	return checks
}
