package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// An update's signals and metrics come after the fields that scripts know, and warnings are events with a name.
func TestSignalsInEvents(t *testing.T) {
	var out, errs bytes.Buffer
	o := &output{stdout: &out, stderr: &errs, json: true, width: 100}
	u := rl.UpdateSummary{
		Run: "a", Update: 3, Time: time.Unix(0, 0).UTC(), LearningRate: .5, Metrics: map[string]float64{"kl": .25, "entropy": 2},
		Signals: &rl.Signals{Rewards: map[string]float64{"reward_exact": 1}, PassAt: []rl.PassRate{{K: 1, Rate: .5, Groups: 2}}, AdvantageTokens: []int{1}, Turns: 4, Rows: 7},
	}
	e := rl.Event{Time: time.Unix(0, 0).UTC(), Update: 3, Kind: rl.Warning, Name: "clipping", Text: "40 % of the tokens are clipped"}
	all := o.updates(40)
	if err := all.event("a", e); err != nil {
		t.Fatal(err)
	}
	if err := all.done(u, -1); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"warning","name":"clipping","time":"1970-01-01T00:00:00Z","run":"a","update":3,"text":"40 % of the tokens are clipped"}
{"event":"update","time":"1970-01-01T00:00:00Z","run":"a","update":3,"success":0,"reward_mean":0,"reward_std":0,"zero_variance_fraction":0,"loss":0,"tokens":0,"turns":0,` +
		`"seconds":{"sample":0,"rollout":0,"judge":0,"advantage":0,"update":0,"checkpoint":0,"publish":0},"learning_rate":0.5,"metrics":{"entropy":2,"kl":0.25},` +
		`"signals":{"rewards":{"reward_exact":1},"pass_at":[{"k":1,"rate":0.5,"groups":2}],"advantage_tokens":[1],"alike_solved":0,"alike_failed":0,"judged_alike":0,` +
		`"turns_mean":4,"tokens_mean":0,"truncated_fraction":0,"stale_fraction":0,"lost_fraction":0,"rows":7,"prefix_broken_fraction":0}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
	if !strings.HasPrefix(errs.String(), "warning at update 3: 40 % of the tokens are clipped\nupdate 3/40 ") {
		t.Errorf("stderr %q", errs.String())
	}
}

// What stands is listed by status and by show, which also has it among an update's events where it began.
func TestStandingWarningsAreListed(t *testing.T) {
	rows := statusRows(runStatus{Run: "a", State: workflows.Running, Warnings: map[string]rl.UpdateNumber{"kl_stop": 7, "clipping": 4}})
	want := [][]string{{"stands", "clipping, since update 4 (`longhaul show a/4`)"}, {"stands", "kl_stop, since update 7 (`longhaul show a/7`)"}}
	if got := rows[len(rows)-2:]; !reflect.DeepEqual(got, want) {
		t.Errorf("status: %q", got)
	}
	var out bytes.Buffer
	viewer{out: &output{stdout: &out, width: 100}}.summary(rl.UpdateSummary{
		Run: "a", Update: 7, Signals: &rl.Signals{Turns: 4.25, Truncated: .5}, Watch: &rl.Watch{Standing: map[string]rl.UpdateNumber{"kl_stop": 7, "clipping": 4}},
		Events: []rl.Event{{Kind: rl.Warning, Name: "kl_stop", Text: "most was cut off"}},
	})
	for _, line := range []string{
		"episodes  4.2 turns and 0.0 tokens on average, 50.0 % cut off\n",
		"event     warning: most was cut off\nstands    clipping, since update 4 (`longhaul show a/4`)\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("show lacks %q:\n%s", line, &out)
		}
	}
	if row := updateRow(rl.UpdateSummary{Events: []rl.Event{{Kind: "resampled"}, {Kind: rl.Warning, Name: "kl_stop"}}}); row[len(row)-1] != "resampled kl_stop" {
		t.Errorf("show RUN: %q", row)
	}
}

func TestPutOffIsTold(t *testing.T) {
	l := rl.Ledger{Asked: 8, Trained: 8, Balanced: true, PutOff: map[rl.Alike]int{rl.AlikeSolved: 12, rl.AlikeFailed: 3}}
	if got, want := ledgerLine(l), "8 rollouts asked for: 8 trained on, 0 left out; tasks put off by the curriculum: failed 3, solved 12"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := whyOf(l), "tasks put off: failed 3, solved 12"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e := entryOf(l); !reflect.DeepEqual(e.PutOff, l.PutOff) {
		t.Errorf("%+v", e)
	}
}
