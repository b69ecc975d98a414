package rl

// JobRecord says which job makes an update: runs/<run>/updates/<n8>/job.json, written again when the update becomes
// another job because the run's settings were changed.
type JobRecord struct {
	Schema   string `json:"schema"` // JobRecordSchema
	Key      string `json:"job"`    // its place is jobs/<key>/
	Launcher string `json:"launcher"`
	Name     string `json:"name"` // where it runs
}

// JobRecordSchema is the version of the JobRecord JSON form.
const JobRecordSchema = "longhaul/job/1"

// JobProgress is what a job tells of itself: jobs/<key>/progress.json, written again and again by the job.
type JobProgress struct {
	Schema  string    `json:"schema"` // JobProgressSchema
	Owner   string    `json:"owner"`
	Attempt int       `json:"attempt"`
	What    string    `json:"what"`
	Done    int       `json:"done"`
	Total   int       `json:"total"`
	Error   *JobError `json:"error,omitempty"` // what ended the attempt
}

// JobProgressSchema is the version of the JobProgress JSON form.
const JobProgressSchema = "longhaul/progress/1"

// JobError is the failure that ended an attempt.
type JobError struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

// JobClaim says who does a job: jobs/<key>/claim.json, the first time by If-None-Match and then by If-Match.
type JobClaim struct {
	Schema string `json:"schema"` // JobClaimSchema
	Owner  string `json:"owner"`
	Token  string `json:"token"` // tells attempts of one owner apart
	Until  string `json:"until"` // RFC 3339: others may take it over from then on
}

// JobClaimSchema is the version of the JobClaim JSON form.
const JobClaimSchema = "longhaul/claim/1"

// JobAttempt is an attempt that is over: jobs/<key>/attempt-<n>.json, beside its log.
type JobAttempt struct {
	Schema        string  `json:"schema"` // JobAttemptSchema
	Attempt       int     `json:"attempt"`
	State         string  `json:"state"` // done, failed or lost
	Exit          int     `json:"exit"`  // -1: a signal, or unknown
	Why           string  `json:"why,omitempty"`
	Identity      string  `json:"identity"` // what ran it
	QueuedSeconds float64 `json:"queued_seconds"`
	RanSeconds    float64 `json:"ran_seconds"`
	BilledSeconds float64 `json:"billed_seconds,omitempty"` // of RanSeconds, that are paid for; 0: all
}

// JobAttemptSchema is the version of the JobAttempt JSON form.
const JobAttemptSchema = "longhaul/attempt/1"

// JobStatus is how a job fares that is under way.
type JobStatus struct {
	Launcher      string  `json:"launcher"`
	Name          string  `json:"name"`
	State         string  `json:"state"` // queued or running
	Attempt       int     `json:"attempt"`
	Identity      string  `json:"identity,omitempty"`
	Why           string  `json:"why,omitempty"` // what a queued one waits for
	QueuedSeconds float64 `json:"queued_seconds"`
	RanSeconds    float64 `json:"ran_seconds"`
}

// JobUse is what a job took, all its attempts together.
type JobUse struct {
	Key           string  `json:"job"`
	Launcher      string  `json:"launcher"`
	Name          string  `json:"name"`
	Attempts      int     `json:"attempts"`
	QueuedSeconds float64 `json:"queued_seconds"` // without a machine
	RanSeconds    float64 `json:"ran_seconds"`    // with one
	IdleSeconds   float64 `json:"idle_seconds"`   // with one, and not training: starting, waiting, attempts that were lost
	USD           float64 `json:"usd"`            // at update.usd_hour, for the seconds that are billed
}

// Add adds what another job took.
func (u *JobUse) Add(o JobUse) {
	u.Attempts += o.Attempts
	u.QueuedSeconds += o.QueuedSeconds
	u.RanSeconds += o.RanSeconds
	u.IdleSeconds += o.IdleSeconds
	u.USD += o.USD
}
