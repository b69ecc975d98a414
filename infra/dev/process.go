package dev

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

const processFile = "process.json"

// Process is how to reach the parts that a running process holds. It contains the S3 secret: its file is
// readable by its owner alone, and it must not be printed whole.
type Process struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Temporal is host:port of the frontend (gRPC); TemporalUI, S3, Policy and Dashboard are http URLs.
	// Each is empty when that part does not run here.
	Temporal   string `json:"temporal,omitempty"`
	TemporalUI string `json:"temporal_ui,omitempty"`
	S3         string `json:"s3,omitempty"`
	AccessKey  string `json:"access_key,omitempty"`
	SecretKey  string `json:"secret_key,omitempty"`
	Policy     string `json:"policy,omitempty"`
	Dashboard  string `json:"dashboard,omitempty"`
}

// Attach returns the endpoints of the process that holds dir. ok is false when none does.
//
// Errors: Unavailable when the holder is still starting or already stopping: try again.
func Attach(dir string) (p Process, ok bool, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return Process{}, false, err
	}
	taken, err := held(dir)
	if err != nil || !taken {
		return Process{}, false, err
	}
	path := at(dir, processFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Process{}, false, rl.Errorf(rl.Unavailable, "data directory", "%s is held by %s, which is starting or stopping", dir, readHolder(dir))
	}
	if err != nil {
		return Process{}, false, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return Process{}, false, invalid(path, err)
	}
	return p, true, nil
}

func (p Process) write(dir string) error { return writeJSON(at(dir, processFile), p) }

// forget removes the endpoints from the directory: nobody answers there any longer, or not yet.
func forget(dir string) error {
	err := os.Remove(at(dir, processFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// writeJSON replaces a file in one step, readable by its owner alone.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
