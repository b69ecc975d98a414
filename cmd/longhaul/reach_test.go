package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// silentServer takes connections and answers nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// What does not answer is told of soon, and given up after the time that was told.
func TestPartsThatAreSilentAreToldOfAndGivenUp(t *testing.T) {
	silent := silentServer(t)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL_S3": "http://" + silent, "TEMPORAL_ADDRESS": silent} {
		t.Setenv(name, value)
	}
	env := map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + silent, "LONGHAUL_STORE": "s3://bucket/x", "TEMPORAL_ADDRESS": silent}
	for what, command := range map[string]func(*app) error{
		"store s3://bucket/x at http://" + silent: func(a *app) error {
			_, err := a.connect(t.Context(), want{Temporal: true})
			return err
		},
		"Temporal " + silent: func(a *app) error {
			_, err := a.external(t.Context(), nil)
			return err
		},
	} {
		var said bytes.Buffer
		a := &app{out: &output{stdout: &said, stderr: &said}, log: slog.New(slog.DiscardHandler), patience: 400 * time.Millisecond, getenv: func(n string) string { return env[n] }}
		start := time.Now()
		err := command(a)
		if want := what + ": no answer within 400ms (context deadline exceeded)"; rl.KindOf(err) != rl.Unavailable || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if want := "waiting for " + what + "; giving up after 400ms\n"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: given up after %v", what, took)
		}
	}
}

func TestAQuickAnswerIsNotToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		a := &app{out: &output{stdout: &said, stderr: &said}, patience: time.Minute}
		refused := rl.Errorf(rl.Refused, "store", "no")
		if err := a.reach(t.Context(), "the store", func(context.Context) error { return refused }); err != error(refused) {
			t.Errorf("got %v", err)
		}
		if said.Len() > 0 {
			t.Errorf("said %q", said.String())
		}
	})
}
