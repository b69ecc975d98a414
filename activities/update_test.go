package activities

import (
	"reflect"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// An update that nothing is left to train on starts no job, wherever its jobs would run: its version is the one before.
func TestNothingToTrainOnStartsNoJob(t *testing.T) {
	b := open(t, "a")
	base := published(t, b, run, 0, aPolicy(t, 1))
	for _, use := range []string{"local", "kubernetes", "sagemaker", tinkered} {
		b.change(t, func(c *rl.Config) { c.Update.Use, c.Updates = use, 3 })
		in := UpdatePolicyIn{Stage: b.in.Stage, Base: &base, Batch: &rl.Ref{Key: "batch"}, Sequences: 0, Scale: 1}
		out, err := b.updatePolicy(t.Context(), in)
		if err != nil {
			t.Fatal(use, err)
		}
		result, err := store.GetJSON[rl.UpdateResult](t.Context(), b.store, out.Result)
		if err != nil {
			t.Fatal(err)
		}
		was, err := b.store.Checkpoint(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(result.Files, was.Files) || result.TokensConsumed != 0 {
			t.Errorf("%s: %+v", use, result)
		}
	}
}
