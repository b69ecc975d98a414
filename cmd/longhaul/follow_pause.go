package main

import "github.com/longhaul-rl/longhaul/workflows"

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
