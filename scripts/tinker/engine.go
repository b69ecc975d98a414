package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const port = "18123"

// engine is SkyRL with its state in a directory. Its processes are one group.
type engine struct {
	work   string
	mu     sync.Mutex
	server *exec.Cmd
	starts int
}

// newEngine makes the base model and starts the service.
func newEngine(work string) (*engine, error) {
	work, err := filepath.Abs(work)
	if err != nil {
		return nil, err
	}
	base = at(work, "model")
	model := exec.Command("python", "scripts/tinker/model.py", base)
	if out, err := model.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("model.py: %w: %s", err, out)
	}
	e := &engine{work: work}
	return e, e.start()
}

// start starts the service and waits until its API answers, which is before its engine can work.
func (e *engine) start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	log, err := os.OpenFile(at(e.work, "skyrl.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	// Fixed sizes, so that a shape is compiled once: batches of 8 rows, 16 samples at a time. The API starts its engine by
	// the words of its own parent, which must be uv.
	e.server = exec.Command("uv", "run", "--no-project", "--active", "-m", "skyrl.tinker.api", "--base-model", base, "--backend", "jax",
		"--backend-config", `{"max_lora_adapters":6,"max_lora_rank":8,"train_micro_batch_size":8,"sample_max_num_sequences":16}`,
		"--checkpoints-base", at(e.work, "kept"), "--database-url", "sqlite:///"+at(e.work, "skyrl.db"), "--host", "127.0.0.1", "--port", port)
	e.server.Stdout, e.server.Stderr, e.server.Dir = log, log, e.work
	e.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.server.Start(); err != nil {
		return err
	}
	e.starts++
	for range 240 {
		if res, err := http.Get("http://127.0.0.1:" + port + "/api/v1/healthz"); err == nil {
			res.Body.Close()
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("SkyRL does not answer: see %s", log.Name())
}

// kill ends all of the service at once.
func (e *engine) kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return
	}
	syscall.Kill(-e.server.Process.Pid, syscall.SIGKILL)
	e.server.Wait() // ends with the signal
	e.server = nil
}
