package dev

import (
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/server/common/headers"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

func TestStoreIsReachedInProcessAndFromOutside(t *testing.T) {
	dir := t.TempDir()
	d, err := Start(t.Context(), Options{Dir: dir, S3: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	p, ok, err := Attach(dir)
	if err != nil || !ok || p.AccessKey == "" || len(p.SecretKey) != 64 {
		t.Fatalf("Attach: %v, %v", ok, err)
	}
	inside := store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey, Transport: d.S3Transport()}
	outside := store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey}
	s, err := store.Open(t.Context(), "s3://"+Bucket, inside)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutNew(t.Context(), "runs/a/config.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), "s3://"+Bucket, outside); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(t.Context(), "runs/a/config.json"); err != nil || string(b) != "{}" {
		t.Errorf("read back %q, %v", b, err)
	}
	outside.SecretKey = strings.Repeat("0", 64)
	if s, err = store.Open(t.Context(), "s3://"+Bucket, outside); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "runs/a/config.json"); err == nil {
		t.Error("a wrong secret was let in")
	}
}

func TestSecretsAreReadableByTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d, err := Start(t.Context(), Options{Dir: dir, S3: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	for name, want := range map[string]os.FileMode{"": 0o700, processFile: 0o600, credentialsFile: 0o600, lockFile: 0o600} {
		if s, err := os.Stat(filepath.Join(dir, name)); err != nil || s.Mode().Perm() != want {
			t.Errorf("%q: want mode %o, got %v, %v", name, want, s.Mode().Perm(), err)
		}
	}
}

func TestKeysAndPortsStayTheSame(t *testing.T) {
	dir := t.TempDir()
	start := func() Process {
		t.Helper()
		d, err := Start(t.Context(), Options{Dir: dir, S3: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Stop(); err != nil {
			t.Fatal(err)
		}
		return d.Process()
	}
	first, second := start(), start()
	if first.S3 != second.S3 || first.AccessKey != second.AccessKey || first.SecretKey != second.SecretKey {
		t.Errorf("first %s %s, then %s %s", first.S3, first.AccessKey, second.S3, second.AccessKey)
	}
	squatter, err := net.Listen("tcp", strings.TrimPrefix(first.S3, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	if third := start(); third.S3 == first.S3 {
		t.Errorf("the port of %s is taken, and was given out", third.S3)
	}
}

func TestAnnounceIsSeenByOthers(t *testing.T) {
	dir := t.TempDir()
	d, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	l, err := d.Listen("policy")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if host, _, _ := net.SplitHostPort(l.Addr().String()); host != "127.0.0.1" {
		t.Errorf("listens on %s", host)
	}
	if err := d.Announce("http://policy", "http://dashboard"); err != nil {
		t.Fatal(err)
	}
	p, ok, err := Attach(dir)
	if err != nil || !ok || p.Policy != "http://policy" || p.Dashboard != "http://dashboard" || p.PID != os.Getpid() {
		t.Errorf("Attach: %+v, %v, %v", p, ok, err)
	}
}

func TestAttachSaysWhenTheHolderIsNotReady(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := Attach(dir); ok || err != nil {
		t.Errorf("nobody holds it: %v, %v", ok, err)
	}
	l, err := hold(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	if _, _, err := Attach(dir); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("want unavailable, got %v", err)
	}
}

func TestHolderIsNamed(t *testing.T) {
	now := time.Now()
	h := holder{PID: 1234, Started: now, Command: command([]string{"/usr/bin/longhaul", "up", "--key", "secret"})}
	if want := "process 1234 (longhaul up, started " + now.Format("15:04") + ")"; h.String() != want {
		t.Errorf("got %q, want %q", h, want)
	}
	h.Started = time.Date(2020, 1, 2, 3, 4, 0, 0, time.Local)
	if want := "process 1234 (longhaul up, started 2020-01-02 03:04)"; h.String() != want {
		t.Errorf("got %q, want %q", h, want)
	}
	if got := (holder{}).String(); got != "another process" {
		t.Errorf("got %q", got)
	}
	if got := command([]string{"longhaul", "--json"}); got != "longhaul" {
		t.Errorf("got %q", got)
	}
}

func TestDatabaseOfAnotherServerVersionIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		origin any    // what temporal.json says, nil = no such file
		want   string // in the message
	}{
		"older":   {origin{Server: "1.29.0", Ready: true}, "written by Temporal server 1.29.0, and this program has " + headers.ServerVersion},
		"unknown": {nil, "temporal.json is missing"},
		"damaged": {"a text", "temporal.json cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, databaseFile, "old bytes")
			if c.origin != nil {
				b, _ := json.Marshal(c.origin)
				put(t, dir, originFile, string(b))
			}
			_, err := Start(t.Context(), Options{Dir: dir, Temporal: true})
			if rl.KindOf(err) != rl.Conflict || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "move") {
				t.Errorf("got %v", err)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, databaseFile)); string(b) != "old bytes" {
				t.Errorf("the refused database was changed to %q", b)
			}
		})
	}
}

func TestHalfMadeDatabaseIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, databaseFile, "half a schema")
	put(t, dir, originFile, `{"server": "`+headers.ServerVersion+`"}`)
	if _, err := openDatabase(dir); err != nil {
		t.Fatal(err)
	}
	if ready, err := checkOrigin(dir); !ready || err != nil {
		t.Errorf("not ready: %v", err)
	}
	if err := os.Rename(filepath.Join(dir, databaseFile), filepath.Join(dir, "aside")); err != nil {
		t.Fatal(err)
	}
	if ready, err := checkOrigin(dir); ready || err != nil {
		t.Errorf("moved aside: ready %v, %v", ready, err)
	}
}

// What a damaged file held can be made anew without a loss.
func TestDamagedPortsAndCredentialsAreMadeAnew(t *testing.T) {
	for _, name := range []string{portsFile, credentialsFile} {
		for _, content := range []string{"", "{", "null", "[]", "{}"} {
			dir := t.TempDir()
			put(t, dir, name, content)
			d, err := Start(t.Context(), Options{Dir: dir, S3: true})
			if err != nil {
				t.Fatalf("%s of %q: %v", name, content, err)
			}
			if p, ok, err := Attach(dir); err != nil || !ok || p.SecretKey == "" || p.S3 != d.Process().S3 {
				t.Errorf("%s of %q: attached %v, %v", name, content, ok, err)
			}
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, name)); len(b) < 10 {
				t.Errorf("%s of %q is %q afterwards", name, content, b)
			}
		}
	}
}

func TestAttachTellsADeadHoldersEndpoints(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	l, err := hold(t.Context(), dir, now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	refused := "127.0.0.1:1"
	for name, c := range map[string]struct {
		p    Process
		want string // in the message
	}{
		"another process":      {Process{PID: os.Getpid() + 1, Started: now}, "starting or stopping"},
		"another start":        {Process{PID: os.Getpid(), Started: now.Add(-time.Hour)}, "starting or stopping"},
		"no process":           {Process{}, "starting or stopping"},
		"does not answer (S3)": {Process{PID: os.Getpid(), Started: now, S3: "http://" + refused}, "does not answer: dial tcp 127.0.0.1:1"},
		"does not answer":      {Process{PID: os.Getpid(), Started: now, Temporal: refused}, "does not answer: dial tcp 127.0.0.1:1"},
	} {
		if err := c.p.write(dir); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := Attach(dir); ok || rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	put(t, dir, processFile, "{")
	if _, _, err := Attach(dir); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), processFile) || !strings.Contains(err.Error(), "start it again") {
		t.Errorf("damaged: %v", err)
	}
}

func TestLeftoversOfKilledProcessesAreSwept(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"process.json.123", "ports.json.1", "credentials.json.99", "temporal.json.7", ".doctor-5", "process.json.bak", "temporal.db.1", "mine.json.1"} {
		put(t, dir, name, "x")
	}
	d, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	put(t, dir, "process.json.4", "being written")
	if _, err := Start(t.Context(), Options{Dir: dir}); rl.KindOf(err) != rl.Conflict { // it must not sweep
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"lock", "mine.json.1", "process.json", "process.json.4", "process.json.bak", "temporal.db.1"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

func TestNewPortsAreBelowTheKernelsOwn(t *testing.T) {
	p, err := openPorts(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, name := range []string{"a", "b"} {
		port, err := p.pick(name)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := p.pick(name); err != nil || again != port {
			t.Errorf("%s had %d, then %d, %v", name, port, again, err)
		}
		if port < firstPort || port >= endPort || slices.Contains(got, port) {
			t.Errorf("%s got %d after %v", name, port, got)
		}
		got = append(got, port)
	}
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
