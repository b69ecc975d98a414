package rl

import "time"

// Schedule is what a schedule starts again and again: runs with one configuration, or evaluations of one run.
type Schedule struct {
	Schema string `json:"schema"` // ScheduleSchema
	Name   string `json:"name"`
	// Run is the configuration of its runs; each is named after it and the time of its start (ScheduledRun).
	Run *Config `json:"run,omitempty"`
	// When is the times of its starts, in words.
	When string `json:"when"`
	// Evaluate is RUN, whose newest version is evaluated each time, or RUN@VERSION.
	Evaluate string `json:"evaluate,omitempty"`
}

// ScheduleSchema is the version of the Schedule JSON form.
const ScheduleSchema = "longhaul/schedule/1"

const scheduledForm = "-20060102t150405z"

// MaxScheduledName is how long the name of a scheduled run's configuration may be: the time of the start follows it.
const MaxScheduledName = 63 - len(scheduledForm)

// ScheduledRun is the run that a schedule starts at a time, in UTC: name-20061231t235959z.
func ScheduledRun(name RunID, at time.Time) RunID {
	return name + RunID(at.UTC().Format(scheduledForm))
}
