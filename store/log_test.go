package store_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// A machine whose metadata service knows no tokens: the SDK says so, to the log and not to stderr.
func TestTheSDKsMessagesGoToTheLog(t *testing.T) {
	metadata := httptest.NewServer(http.NotFoundHandler())
	defer metadata.Close()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL, "AWS_EC2_METADATA_DISABLED": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL_S3": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
	} {
		t.Setenv(name, value)
	}
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var log bytes.Buffer
		_, err := store.Open(t.Context(), "s3://bucket", store.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))})
		if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
			t.Errorf("%v: %v", level, err)
		}
		if got := strings.Contains(log.String(), "IMDSv1"); got != want {
			t.Errorf("%v: the log holds %q", level, log.String())
		}
	}
}
