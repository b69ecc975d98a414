package rl

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

type (
	// RunID names one training workflow: the `name` of its run.yaml.
	RunID string
	// UpdateNumber counts optimiser updates of a run. 0 is the initial policy (after its warm-up);
	// update n samples with version n-1 (or older) and makes version n.
	UpdateNumber int
	// TaskID names a task within its run, for example "train-17" or "eval-100003".
	TaskID string
	// Version names a policy: "run@000012".
	Version string
)

var runIDPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Valid reports whether the id can name a run: 1 to 63 of a-z 0-9 . _ -, starting with a letter or digit.
func (id RunID) Valid() bool { return runIDPattern.MatchString(string(id)) }

// VersionOf is the policy version which update n of a run makes.
func VersionOf(run RunID, n UpdateNumber) Version {
	return Version(fmt.Sprintf("%s@%06d", run, n))
}

// Parse splits a version into its run and update.
func (v Version) Parse() (RunID, UpdateNumber, error) {
	run, num, ok := strings.Cut(string(v), "@")
	n, err := strconv.Atoi(num)
	if !ok || err != nil || n < 0 || !RunID(run).Valid() {
		return "", 0, Errorf(Invalid, "version", "%q is not of the form run@000012", string(v))
	}
	return RunID(run), UpdateNumber(n), nil
}

// EpisodeID names one episode: member m of the group of a task, in one update of a run.
type EpisodeID struct {
	Run    RunID        `json:"run"`
	Update UpdateNumber `json:"update"`
	Task   TaskID       `json:"task"`
	Member int          `json:"member"`
}

// String is the form that commands take: RUN/UPDATE/TASK/MEMBER.
func (e EpisodeID) String() string {
	return fmt.Sprintf("%s/%d/%s/%d", e.Run, e.Update, e.Task, e.Member)
}

// Seed derives an independent 53-bit seed from a base seed and a path of names, so that whatever is sampled
// for (update, task, member, turn) does not depend on what else ran, in which order, or where.
// 53 bits survive every JSON implementation.
func Seed(base uint64, path ...any) uint64 {
	h := sha256.New()
	fmt.Fprint(h, base)
	for _, p := range path {
		fmt.Fprintf(h, "/%v", p)
	}
	return binary.BigEndian.Uint64(h.Sum(nil)) >> 11
}
