package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

func s3Server(t *testing.T, key string) http.Handler {
	t.Helper()
	server, err := s3.Open(t.TempDir(), s3.Options{AccessKey: key, SecretKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// A base on S3 is read where the AWS environment says, though the run's store is the embedded one; what is in the embedded bucket, there.
func TestABaseOutsideTheEmbeddedStore(t *testing.T) {
	outside := httptest.NewServer(s3Server(t, "theirs"))
	defer outside.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": outside.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "theirs", "AWS_SECRET_ACCESS_KEY": "theirs",
		"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
	embedded := store.Options{Endpoint: "http://embedded.local", AccessKey: "ours", SecretKey: "ours", Transport: inprocess.Transport{Handler: s3Server(t, "ours")}}
	c := &conn{options: embedded}
	for uri, there := range map[string]store.Options{"s3://models/tiny": {}, "s3://" + dev.Bucket + "/models/tiny": embedded} {
		s, err := store.Open(t.Context(), uri, there)
		if err == nil {
			_, err = s.Put(t.Context(), "config.json", []byte(uri))
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, err = c.OpenBase(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(t.Context(), "config.json"); err != nil || string(b) != uri {
			t.Errorf("%s: %q, %v", uri, b, err)
		}
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	_, err := c.OpenBase(context.Background(), "s3://models/tiny")
	if rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), "policy.base s3://models/tiny: the store is the embedded one, whose bucket is longhaul; this one is read as the AWS environment says: ") || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Error(err)
	}
}
