package store

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Keys are relative to the store's prefix, so that references mean the same whichever bucket a run lives in.
// Numbers are padded to eight digits: keys sort as the updates do.

// RunPrefix is where everything of a run lies, shared chunks and update jobs apart.
func RunPrefix(run rl.RunID) string { return fmt.Sprintf("runs/%s/", run) }

// ConfigKey is the run's complete configuration.
func ConfigKey(run rl.RunID) string { return RunPrefix(run) + "config.json" }

// WorldKey is what a run's environment was made of when the run began, where it is made of files.
func WorldKey(run rl.RunID) string { return RunPrefix(run) + "world.json" }

// UpdatesPrefix is where all updates of a run lie.
func UpdatesPrefix(run rl.RunID) string { return RunPrefix(run) + "updates/" }

// UpdatePrefix is where one update's records lie.
func UpdatePrefix(run rl.RunID, n rl.UpdateNumber) string {
	return fmt.Sprintf("%supdates/%08d/", RunPrefix(run), n)
}

// TasksKey is the tasks that an update samples.
func TasksKey(run rl.RunID, n rl.UpdateNumber) string { return UpdatePrefix(run, n) + "tasks.json" }

// MoreTasksKey is the tasks that an update samples in addition, the round-th time (1, 2, ...).
func MoreTasksKey(run rl.RunID, n rl.UpdateNumber, round int) string {
	return fmt.Sprintf("%stasks-%d.json", UpdatePrefix(run, n), round)
}

// CurriculumKey is what an update's tasks are sampled by, where the curriculum is on.
func CurriculumKey(run rl.RunID, n rl.UpdateNumber) string {
	return UpdatePrefix(run, n) + "curriculum.json"
}

// JournalPrefix is where the turns of an update's episodes are written down as they happen.
func JournalPrefix(run rl.RunID, n rl.UpdateNumber) string { return UpdatePrefix(run, n) + "journal/" }

// GroupPrefix is where the records of one group lie.
func GroupPrefix(run rl.RunID, n rl.UpdateNumber, task rl.TaskID) string {
	return fmt.Sprintf("%sgroups/%s/", UpdatePrefix(run, n), url.PathEscape(string(task)))
}

// TrajectoryKey is the record of one episode.
func TrajectoryKey(e rl.EpisodeID) string {
	return fmt.Sprintf("%sepisodes/%d/trajectory.json.zst", GroupPrefix(e.Run, e.Update, e.Task), e.Member)
}

// FailureKey is the record of an episode that has no trajectory, beside where that would lie.
func FailureKey(trajectoryKey string) string { return path.Dir(trajectoryKey) + "/failure.json" }

// ClaimKey is where an attempt claims a call that must not be repeated, before it sends it for the try-th time.
func ClaimKey(trajectoryKey string, turn, call, try int) string {
	return fmt.Sprintf("%s/claims/%d-%d-%d.json", path.Dir(trajectoryKey), turn, call, try)
}

// ReplayKey is what a replay of an episode came to, beside its trajectory.
func ReplayKey(e rl.EpisodeID, number int) string {
	return fmt.Sprintf("%s%06d/replay.json", ReplayPrefix(e), number)
}

// ReplayTrajectoryKey is the record of a replay.
func ReplayTrajectoryKey(e rl.EpisodeID, number int) string {
	return path.Dir(ReplayKey(e, number)) + "/trajectory.json.zst"
}

// ReplayPrefix is where the replays of an episode lie.
func ReplayPrefix(e rl.EpisodeID) string { return path.Dir(TrajectoryKey(e)) + "/replays/" }

// ScoresKey is a group's scores.
func ScoresKey(run rl.RunID, n rl.UpdateNumber, task rl.TaskID) string {
	return GroupPrefix(run, n, task) + "scores.json"
}

// BatchKey is what an update trains on.
func BatchKey(run rl.RunID, n rl.UpdateNumber) string {
	return UpdatePrefix(run, n) + "batch.safetensors"
}

// LedgerKey says where every rollout of an update ended.
func LedgerKey(run rl.RunID, n rl.UpdateNumber) string { return UpdatePrefix(run, n) + "ledger.json" }

// SummaryKey is an update's line for people.
func SummaryKey(run rl.RunID, n rl.UpdateNumber) string { return UpdatePrefix(run, n) + "summary.json" }

// JudgePrefix is where a judge's answers to questions about a group lie.
func JudgePrefix(run rl.RunID, n rl.UpdateNumber, task rl.TaskID) string {
	return GroupPrefix(run, n, task) + "judge/"
}

// JudgeReplyKey is what a judge answered to a question about a group; question is the sha256 of its canonical JSON.
func JudgeReplyKey(run rl.RunID, n rl.UpdateNumber, task rl.TaskID, question string) string {
	return JudgePrefix(run, n, task) + question + ".json"
}

// RescoredPrefix is where the scores lie that other rewards gave a group.
func RescoredPrefix(run rl.RunID, n rl.UpdateNumber, task rl.TaskID) string {
	return GroupPrefix(run, n, task) + "rescored/"
}

// RescoredKey is the scores that another reward gave a group, by the sha256 of that reward's configuration (RewardKey).
func RescoredKey(run rl.RunID, n rl.UpdateNumber, task rl.TaskID, reward string) string {
	return RescoredPrefix(run, n, task) + reward + ".json"
}

// RewardKey is the configuration of a reward that groups of a run were scored with again, by the sha256 of its canonical JSON.
func RewardKey(run rl.RunID, reward string) string {
	return RunPrefix(run) + "rewards/" + reward + ".json"
}

// SpendKey is what a run has spent on its judge.
func SpendKey(run rl.RunID) string { return RunPrefix(run) + "spend.json" }

// CheckpointPrefix is where a run's manifests lie.
func CheckpointPrefix(run rl.RunID) string { return RunPrefix(run) + "ckpt/" }

// CheckpointKey is the manifest of the checkpoint that an update made.
func CheckpointKey(run rl.RunID, n rl.UpdateNumber) string {
	return fmt.Sprintf("%s%08d.json", CheckpointPrefix(run), n)
}

// RetiredPrefix is where the records of checkpoints lie that retention removed.
func RetiredPrefix(run rl.RunID) string { return RunPrefix(run) + "retired/" }

// RetiredKey is the record of the checkpoint that an update made, once retention has removed it.
func RetiredKey(run rl.RunID, n rl.UpdateNumber) string {
	return fmt.Sprintf("%s%08d.json", RetiredPrefix(run), n)
}

// PinPrefix is where the leases on a run's checkpoints lie.
func PinPrefix(run rl.RunID) string { return RunPrefix(run) + "pins/" }

// PinKey is a lease on a checkpoint of the run.
func PinKey(run rl.RunID, name string) string {
	return PinPrefix(run) + url.PathEscape(name) + ".json"
}

// numberOf reads the update number of a file name such as 00000012.json.
func numberOf(name string) (rl.UpdateNumber, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
	return rl.UpdateNumber(n), err == nil && n >= 0 && name == fmt.Sprintf("%08d.json", n)
}

// manifestOf is the run and the update whose checkpoint manifest has this key.
func manifestOf(key string) (rl.RunID, rl.UpdateNumber, bool) {
	n, ok := updateOf(key)
	run, _, _ := strings.Cut(strings.TrimPrefix(key, "runs/"), "/")
	return rl.RunID(run), n, ok && CheckpointKey(rl.RunID(run), n) == key
}

// updateOf is the update whose checkpoint manifest has this key.
func updateOf(key string) (rl.UpdateNumber, bool) {
	_, name, _ := strings.Cut(key, "/ckpt/")
	n, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
	return rl.UpdateNumber(n), err == nil && n >= 0 && strings.HasSuffix(key, fmt.Sprintf("/ckpt/%08d.json", n))
}

// The pointers of a run.
const (
	Latest = "latest" // the newest checkpoint; its update number never goes down
	Best   = "best"   // the best evaluated checkpoint
)

// PointerKey is where a run's pointer (Latest, Best) lies.
func PointerKey(run rl.RunID, name string) string { return RunPrefix(run) + name }

// EvaluationPrefix is where one evaluation lies: of the version that update n made, with hash telling tasks and
// sampling apart.
func EvaluationPrefix(run rl.RunID, n rl.UpdateNumber, hash string) string {
	return fmt.Sprintf("%sevals/%08d-%s/", RunPrefix(run), n, url.PathEscape(hash))
}

// EvaluationTasksKey is the tasks that an evaluation plays.
func EvaluationTasksKey(run rl.RunID, n rl.UpdateNumber, hash string) string {
	return EvaluationPrefix(run, n, hash) + "tasks.json"
}

// EvaluationJournalPrefix is where the turns of an evaluation's episodes are written down as they happen.
func EvaluationJournalPrefix(run rl.RunID, n rl.UpdateNumber, hash string) string {
	return EvaluationPrefix(run, n, hash) + "journal/"
}

// EvaluationKey is an evaluation's result.
func EvaluationKey(run rl.RunID, n rl.UpdateNumber, hash string) string {
	return EvaluationPrefix(run, n, hash) + "evaluation.json"
}

// EvaluationTrajectoryKey is one of an evaluation's episodes; play is "greedy" or "sampled".
func EvaluationTrajectoryKey(run rl.RunID, n rl.UpdateNumber, hash, play string, task rl.TaskID) string {
	return fmt.Sprintf("%s%s/%s/trajectory.json.zst", EvaluationPrefix(run, n, hash), play, url.PathEscape(string(task)))
}

// SchedulePrefix is where what a schedule starts is recorded; "" for all schedules.
func SchedulePrefix(name string) string {
	if name == "" {
		return "schedules/"
	}
	return "schedules/" + name + "/"
}

// ScheduleKey is what a schedule starts, by the sha256 of it: a schedule made again under the same name may start
// something else.
func ScheduleKey(name, sum string) string { return SchedulePrefix(name) + sum + ".json" }

// ChunkKey is a piece of a file, named by the sha256 of its content.
func ChunkKey(sum string) string { return fmt.Sprintf("cas/sha256/%.2s/%s", sum, sum) }
