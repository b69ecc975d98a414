package main

import (
	"time"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// pause tells of a run that is paused, once, and of its going on. Elsewhere than on a terminal a follower would else be
// silent until somebody resumes the run.
func (f *follower) pause(s runStatus) {
	now := s.State == workflows.Paused
	switch {
	case now && !f.paused && s.WaitingFor != nil:
		f.table.say("run %s is paused: %s\n`longhaul resume %s` lets it go on", s.Run, s.WaitingFor.Why, s.Run)
	case now && !f.paused:
		f.table.say("run %s is paused; `longhaul resume %s` lets it go on", s.Run, s.Run)
	case !now && f.paused:
		f.table.say("run %s goes on", s.Run)
	}
	f.paused = now
}

// stuckAfter is how long a stage may be tried again before a follower speaks of it: a server may be busy for a moment.
const stuckAfter = 10 * time.Second

// stuck tells of a stage that waits for something, once in an update.
func (f *follower) stuck(s runStatus) {
	w := s.WaitingFor
	if w == nil || s.State != workflows.Running || time.Since(w.Since) < stuckAfter {
		return
	}
	if n, told := f.stages[w.What]; told && n == s.Update {
		return
	}
	if f.stages == nil {
		f.stages = map[string]rl.UpdateNumber{}
	}
	f.stages[w.What] = s.Update
	f.table.say("update %d waits for %s since %s, and tries again: %s", s.Update, w.What, render.Duration(time.Since(w.Since)), w.Why)
}
