package store_test

import (
	"testing"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// A configuration reads as it was written; an option that is newer than it has its default.
func TestConfigsReadAsTheyWere(t *testing.T) {
	s := overSocket(t)
	tiny, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	served := tiny
	served.Name, served.WarmUp.Max = "served", 0
	served.Policy = rl.PolicyConfig{Use: "openai", URL: "http://a/v1,http://b/v1", Model: "m", Publish: "none", ShareGPU: "no"}
	for _, want := range []rl.Config{tiny, served} {
		if _, _, err := store.PutJSON(t.Context(), s, store.ConfigKey(want.Name), want); err != nil {
			t.Fatal(err)
		}
		if _, got, err := s.Config(t.Context(), want.Name); err != nil || got != want {
			t.Errorf("%+v\n%v, want\n%+v", got, err, want)
		}
	}
	if _, err := s.Put(t.Context(), store.ConfigKey("old"), []byte(`{"name":"old","env":{"use":"orders"},"group":{"size":4}}`)); err != nil {
		t.Fatal(err)
	}
	if _, got, err := s.Config(t.Context(), "old"); err != nil || got.Group.Size != 4 || got.Group.Valid != tiny.Group.Valid {
		t.Errorf("%+v %v", got, err)
	}
}
