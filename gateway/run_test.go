package gateway

import (
	"context"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func TestAnAgentsEpisode(t *testing.T) {
	d := newDesk(t, "chat")
	o := d.options(0)
	var recorded []rl.Recorded
	o.Record = func(_ context.Context, r rl.Recorded) error {
		recorded = append(recorded, r)
		return nil
	}
	got, err := d.agent.Run(t.Context(), d.server, d.client, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", rl.CanonicalJSON(got))
	rows, why := got.Samples()
	t.Log(len(rows), why, len(recorded), got.Outcome)
}
