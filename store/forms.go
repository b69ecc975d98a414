package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// forms says what the objects of a run must be, by their keys under its prefix. The first pattern counts.
var forms = []struct {
	pattern string // as path.Match
	check   func(v *verification, key string, body []byte) error
}{
	{"config.json", configForm},
	{"configs/*.json", configForm},
	{"changes/*.json", changeForm},
	{Latest, pointerForm},
	{Best, pointerForm},
	{"ckpt/*.json", manifestForm},
	{"retired/*.json", retiredForm},
	{"pins/*.json", pinForm},
	{"updates/*/groups/*/episodes/*/trajectory.json.zst", trajectoryForm},
	{"updates/*/groups/*/episodes/*/replays/*/trajectory.json.zst", evaluationTrajectoryForm},
	{"updates/*/groups/*/episodes/*/replays/*/replay.json", replayForm},
	{"evals/*/*/*/trajectory.json.zst", evaluationTrajectoryForm},
	{"updates/*/groups/*/scores.json", scoresForm},
	{"updates/*/groups/*/rescored/*.json", scoresForm},
	{"updates/*/groups/*/judge/*.json", jsonForm},
	{"rewards/*.json", rewardForm},
	{"spend.json", spendForm},
	{"world.json", worldForm},
	{"updates/*/batch.safetensors", batchForm},
	{"updates/*/ledger.json", ledgerForm},
	{"updates/*/curriculum.json", curriculumForm},
	{"updates/*/summary.json", summaryForm},
	{"evals/*/evaluation.json", evaluationForm},
	{"*/*/tasks.json", tasksForm},
	{"updates/*/tasks-*.json", tasksForm},
	{"updates/*/journal/*.jsonl", segmentForm},
	{"evals/*/journal/*.jsonl", segmentForm},
}

func configForm(v *verification, key string, body []byte) error {
	c, err := decode[rl.Config](key, body)
	if err == nil && c.Name != v.run {
		err = rl.Errorf(rl.Corrupt, at(key), "it is the configuration of %q", c.Name)
	}
	return err
}

func changeForm(v *verification, key string, body []byte) error {
	c, err := decode[rl.Change](key, body)
	if err != nil {
		return err
	}
	v.refer(key, &c.Config)
	return checkSchema(key, c.Schema, rl.ChangeSchema)
}

func spendForm(_ *verification, key string, body []byte) error {
	s, err := decode[rl.Spend](key, body)
	if err != nil {
		return err
	}
	return checkSchema(key, s.Schema, rl.SpendSchema)
}

func worldForm(_ *verification, key string, body []byte) error {
	w, err := decode[rl.World](key, body)
	if sum, hexErr := hex.DecodeString(w.SHA256); err == nil && (hexErr != nil || len(sum) != sha256.Size) {
		err = rl.Errorf(rl.Corrupt, at(key), "%.80q is no SHA-256", w.SHA256)
	}
	if err != nil {
		return err
	}
	return checkSchema(key, w.Schema, rl.WorldSchema)
}

func rewardForm(v *verification, key string, body []byte) error {
	if _, err := decode[rl.RewardConfig](key, body); err != nil {
		return err
	}
	if sum := SHA256(body); RewardKey(v.run, sum) != key {
		return rl.Errorf(rl.Corrupt, at(key), "its sha256 is %s", sum)
	}
	return nil
}

// jsonForm is of records whose content is somebody else's.
func jsonForm(_ *verification, key string, body []byte) error {
	_, err := decode[json.RawMessage](key, body)
	return err
}

func pointerForm(v *verification, key string, body []byte) error {
	to, err := decode[rl.Ref](key, body)
	if err == nil {
		v.refer(key, &to)
	}
	return err
}

func manifestForm(v *verification, key string, body []byte) error {
	c, err := decode[rl.Checkpoint](key, body)
	if err == nil {
		err = checkManifest(key, c)
	}
	if err != nil {
		return err
	}
	v.refer(key, c.Parent)
	v.need(key, c.Files)
	return nil
}

func retiredForm(_ *verification, key string, body []byte) error {
	r, err := decode[rl.Retired](key, body)
	if err != nil {
		return err
	}
	return checkRetired(key, r)
}

func pinForm(v *verification, key string, body []byte) error {
	p, err := decode[rl.Pin](key, body)
	if err != nil {
		return err
	}
	v.refer(key, &p.Manifest)
	return checkSchema(key, p.Schema, rl.PinSchema)
}

func trajectoryForm(_ *verification, key string, body []byte) error {
	t, err := DecodeTrajectory(key, body)
	if err == nil && TrajectoryKey(t.Episode) != key {
		err = rl.Errorf(rl.Corrupt, at(key), "it is the trajectory of %s", t.Episode)
	}
	return err
}

func evaluationTrajectoryForm(_ *verification, key string, body []byte) error {
	_, err := DecodeTrajectory(key, body)
	return err
}

func replayForm(v *verification, key string, body []byte) error {
	r, err := decode[rl.Replay](key, body)
	if err == nil && ReplayKey(r.Of, r.Number) != key {
		err = rl.Errorf(rl.Corrupt, at(key), "it is replay %d of %s", r.Number, r.Of)
	}
	if err != nil {
		return err
	}
	v.refer(key, r.Trajectory)
	return checkSchema(key, r.Schema, rl.ReplaySchema)
}

func scoresForm(_ *verification, key string, body []byte) error {
	s, err := decode[rl.Scores](key, body)
	if err != nil {
		return err
	}
	if own := GroupPrefix("", 0, s.Task); !strings.Contains(key, own[strings.Index(own, "/groups/"):]) {
		return rl.Errorf(rl.Corrupt, at(key), "it is the scores of task %q", s.Task)
	}
	return checkSchema(key, s.Schema, rl.ScoresSchema)
}

func batchForm(_ *verification, _ string, body []byte) error {
	_, err := DecodeBatch(body)
	return err
}

func ledgerForm(_ *verification, key string, body []byte) error {
	l, err := decode[rl.Ledger](key, body)
	if err != nil {
		return err
	}
	if l.Balance(); !l.Balanced {
		return rl.Errorf(rl.Corrupt, at(key), "it does not balance: %d rollouts asked for, %d trained on, %d slots", l.Asked, l.Trained, len(l.Slots))
	}
	return checkSchema(key, l.Schema, rl.LedgerSchema)
}

func curriculumForm(_ *verification, key string, body []byte) error {
	c, err := decode[rl.Curriculum](key, body)
	if err == nil && CurriculumKey(c.Run, c.Update) != key {
		err = rl.Errorf(rl.Corrupt, at(key), "it is the curriculum of %s/%d", c.Run, c.Update)
	}
	if err != nil {
		return err
	}
	return checkSchema(key, c.Schema, rl.CurriculumSchema)
}

func summaryForm(v *verification, key string, body []byte) error {
	s, err := decode[rl.UpdateSummary](key, body)
	if err != nil {
		return err
	}
	if err := checkSchema(key, s.Schema, rl.UpdateSummarySchema); err != nil {
		return err
	}
	v.refer(key, &s.Checkpoint)
	return nil
}

func evaluationForm(_ *verification, key string, body []byte) error {
	e, err := decode[rl.Evaluation](key, body)
	if err != nil {
		return err
	}
	return checkSchema(key, e.Schema, rl.EvaluationSchema)
}

func tasksForm(_ *verification, key string, body []byte) error {
	_, err := decode[[]rl.Task](key, body)
	return err
}

func segmentForm(_ *verification, key string, body []byte) error {
	_, err := DecodeSegment(key, body)
	return err
}

func checkSchema(key, is, want string) error {
	if is != want {
		return rl.Errorf(rl.Corrupt, at(key), "its schema is %q, not %q", is, want)
	}
	return nil
}
