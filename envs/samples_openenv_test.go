package envs_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// openenvSample is a server of the openenv package, where that is installed, which all checks share.
func openenvSample(t *testing.T) rl.EnvConfig {
	url, err := openenvServer()
	if err != nil {
		t.Skip(err)
	}
	return rl.EnvConfig{Use: "openenv", OpenEnv: rl.OpenEnvConfig{URL: url, Sessions: 4, Tool: "act", OutputBytes: 1000, Score: "sum", Failed: "void", ResetTimeout: rl.Duration(time.Minute)}}
}

// openenvProcess is the server. Its standard input ends with this process, or when nobody knows it any more, and it with that.
var openenvProcess *exec.Cmd

var openenvServer = sync.OnceValues(func() (url string, err error) {
	python := filepath.Join(os.Getenv("LONGHAUL_TEST_WORLDS"), "openenv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		return "", fmt.Errorf("the openenv package is not installed: LONGHAUL_TEST_WORLDS=$(scripts/worlds.sh openenv)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	openenvProcess = exec.Command(python, "openenv/testdata/counting.py")
	openenvProcess.Env = append(os.Environ(), "PORT="+port, "SESSIONS=4")
	if _, err := openenvProcess.StdinPipe(); err != nil {
		return "", err
	}
	if err := openenvProcess.Start(); err != nil {
		return "", err
	}
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "http://" + address, nil
		}
	}
	return "", fmt.Errorf("no server at %s", address)
})
