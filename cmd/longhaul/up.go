package main

import (
	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/rl"
)

func (a *app) upCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "up", Short: "Run Temporal, S3, the policy and a worker in one long-lived process", GroupID: groupStart,
		Long: "up holds --data and works on every run that is started in it, until it is stopped. Everything listens on loopback.\n" +
			"Start runs from another terminal: longhaul train -f run.yaml --detach",
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := a.host(cmd.Context(), want{Make: true}, false)
			if err != nil {
				return err
			}
			defer h.Close()
			if h.Holder != nil {
				return rl.Errorf(rl.Conflict, "data directory", "%s is held by process %d already", a.data, h.Holder.PID)
			}
			if err := a.sayWhere(h); err != nil {
				return err
			}
			return h.untilStopped(cmd.Context(), func() { a.out.say("Stopping. Runs go on where they were at the next `longhaul up%s`.", a.dataFlag()) })
		},
	})
}

// sayWhere tells where the parts answer. Secrets stay in the data directory.
func (a *app) sayWhere(h *host) error {
	p := h.process()
	if a.out.json {
		return a.out.object(struct {
			Event      string `json:"event"`
			PID        int    `json:"pid"`
			Temporal   string `json:"temporal,omitempty"`
			TemporalUI string `json:"temporal_ui,omitempty"`
			S3         string `json:"s3,omitempty"`
			Policy     string `json:"policy,omitempty"`
			Store      string `json:"store"`
		}{"up", p.PID, p.Temporal, p.TemporalUI, p.S3, p.Policy, h.URI})
	}
	rows := [][]string{{"store", h.URI}}
	for _, r := range [][]string{{"Temporal", p.Temporal}, {"Temporal UI", p.TemporalUI}, {"S3", p.S3}, {"policy", p.Policy}} {
		if r[1] != "" {
			rows = append(rows, r)
		}
	}
	a.out.rows(rows)
	a.out.say("longhaul is up. Start a run from another terminal: longhaul train -f run.yaml --detach%s", a.dataFlag())
	return nil
}
