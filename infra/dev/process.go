package dev

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// Attach returns the endpoints of the process that holds dir, which answer. ok is false when none holds it.
//
// Errors: Unavailable when the holder is still starting, already stopping or was killed this moment: try again. Invalid
// when its file cannot be read.
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
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Process{}, false, err
	}
	h := readHolder(dir)
	if err == nil {
		if err := json.Unmarshal(b, &p); err != nil {
			return Process{}, false, rl.Errorf(rl.Invalid, path, "%w; stop %s and start it again, which writes the file anew", err, h)
		}
	}
	if p.PID == 0 || h.PID != 0 && (p.PID != h.PID || !p.Started.Equal(h.Started)) { // not there, or a dead holder's
		return Process{}, false, rl.Errorf(rl.Unavailable, "data directory", "%s is held by %s, which is starting or stopping", dir, h)
	}
	if err := p.answers(); err != nil {
		return Process{}, false, rl.Errorf(rl.Unavailable, "data directory", "%s is held by %s, which does not answer: %w", dir, h, err)
	}
	return p, true, nil
}

// answers tries whether the parts accept connections: a process that was killed holds its lock for some moments more.
func (p Process) answers() error {
	for _, addr := range []string{p.Temporal, strings.TrimPrefix(p.S3, "http://")} {
		if addr == "" {
			continue
		}
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return err
		}
		c.Close()
	}
	return nil
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

// unfinished are the files that writeJSON leaves when the process is killed in it, and those of doctor's try to write.
var unfinished = regexp.MustCompile(`^(process|ports|credentials|temporal)\.json\.[0-9]+$|^\.doctor-[0-9]+$`)

// sweep removes what killed predecessors left unfinished. The lock must be held.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if unfinished.MatchString(e.Name()) {
			err = errors.Join(err, os.Remove(at(dir, e.Name())))
		}
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
		return unwritable(filepath.Dir(path), err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return unwritable(filepath.Dir(path), err)
	}
	return os.Rename(f.Name(), path)
}
