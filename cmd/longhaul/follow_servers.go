package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/policy"
)

// reports are what workers told last of the policy servers, by worker.
type reports map[string]report

type report struct {
	at      time.Time
	servers []policy.ServerStatus
}

// take takes in what a rollout's heartbeat told, where that is newer than what is known of its worker.
func (r reports) take(a *workflowpb.PendingActivityInfo) {
	var told activities.Serving
	at := a.LastHeartbeatTime.AsTime()
	if a.HeartbeatDetails == nil || !at.After(r[a.LastWorkerIdentity].at) ||
		converter.GetDefaultDataConverter().FromPayloads(a.HeartbeatDetails, &told) != nil || told.Servers == nil {
		return
	}
	r[a.LastWorkerIdentity] = report{at, told.Servers}
}

// servers sums the reports up by server: its load is all workers', its state the worst that one of them sees.
func (r reports) servers() (all []policy.ServerStatus) {
	worse := []string{"healthy", "paused", "ejected"}
	for _, worker := range slices.Sorted(maps.Keys(r)) {
		for _, s := range r[worker].servers {
			i := slices.IndexFunc(all, func(o policy.ServerStatus) bool { return o.URL == s.URL })
			if i < 0 {
				all = append(all, s)
				continue
			}
			o := &all[i]
			o.Episodes, o.InFlight, o.Waiting, o.Limit = o.Episodes+s.Episodes, o.InFlight+s.InFlight, o.Waiting+s.Waiting, o.Limit+s.Limit
			if slices.Index(worse, s.State) > slices.Index(worse, o.State) {
				o.State, o.Why = s.State, s.Why
			}
		}
	}
	return all
}

// nobodyServes reports whether all servers are ejected: a rollout that asks them is an attempt to find one that is back.
func nobodyServes(all []policy.ServerStatus) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(s policy.ServerStatus) bool { return s.State != "ejected" })
}

func serverRow(s policy.ServerStatus) []string {
	load := fmt.Sprintf("%s, %d episodes, %d requests", s.State, s.Episodes, s.InFlight)
	if s.Limit > 0 {
		load += fmt.Sprintf(" of at most %d", s.Limit)
	}
	if s.Waiting > 0 {
		load += fmt.Sprintf(", %d wait", s.Waiting)
	}
	if s.Why != "" {
		load += ": " + s.Why
	}
	return []string{"server", s.URL + " " + load}
}
