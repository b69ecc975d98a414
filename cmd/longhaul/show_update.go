package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shownUpdate is `show RUN/UPDATE --json`. Summary and ledger are null while the update is under way.
type shownUpdate struct {
	Run     rl.RunID          `json:"run"`
	Update  rl.UpdateNumber   `json:"update"`
	Summary *rl.UpdateSummary `json:"summary"`
	Ledger  *rl.Ledger        `json:"ledger"`
	Job     *shownJob         `json:"job,omitempty"` // where the update is made by a job of its own
	Groups  []shownGroup      `json:"groups"`
}

// shownGroup is one line of an update, and `show RUN/UPDATE/TASK --json` with its members.
type shownGroup struct {
	ID      string         `json:"id"` // RUN/UPDATE/TASK
	Task    rl.Task        `json:"task"`
	Scores  *rl.Scores     `json:"scores"` // null: not judged yet
	Mean    float64        `json:"mean"`
	Std     float64        `json:"std"` // population
	Members []shownEpisode `json:"members,omitempty"`
	// Rescored are the scores that `longhaul rescore` has put beside.
	Rescored []shownRescored `json:"rescored,omitempty"`
}

func (v viewer) update(ctx context.Context, at address) error {
	s, err := v.readUpdate(ctx, at)
	if err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(s)
	}
	if s.Summary != nil {
		v.summary(*s.Summary)
	} else {
		v.out.print("%s/%d is under way.\n", at.run, at.update)
	}
	if s.Ledger != nil {
		v.out.print("\n%s\n", ledgerLine(*s.Ledger))
		if s.Ledger.Judge.Calls > 0 {
			v.out.print("judge: %s\n", spentLine(s.Ledger.Judge))
		}
	}
	if s.Job != nil {
		v.job(*s.Job)
	}
	rows := [][]string{{"GROUP", "KIND", "MEAN", "SPREAD", "SCORES"}}
	for _, g := range s.Groups {
		row := []string{g.ID, g.Task.Kind, "-", "-", "not judged yet"}
		if g.Scores != nil {
			row = []string{g.ID, g.Task.Kind, fmt.Sprintf("%.3f", g.Mean), fmt.Sprintf("%.3f", g.Std), scoreList(g.Scores.Scores), remarks(*g.Scores)}
		}
		rows = append(rows, row)
	}
	if len(s.Groups) > 0 {
		v.out.print("\n")
		v.out.rows(rows)
	}
	return nil
}

func (v viewer) summary(u rl.UpdateSummary) {
	s := u.Seconds
	rows := [][]string{
		{"update", fmt.Sprintf("%s/%d, done %s", u.Run, u.Update, u.Time.Local().Format("2006-01-02 15:04:05"))},
		{"made", fmt.Sprintf("%s (sha256 %.12s), learning rate %.4g", u.Version, u.Checkpoint.SHA256, u.LearningRate)},
	}
	if u.Update > 0 {
		rows = append(rows,
			[]string{"success", fmt.Sprintf("%.3f; reward %.3f ± %.3f; %.0f %% of the groups flat", u.Success, u.RewardMean, u.RewardStd, 100*u.Flat())},
			[]string{"played", fmt.Sprintf("%d turns, %d tokens", u.Turns, u.Tokens)})
	}
	if u.Signals != nil {
		rows = append(rows, render.Signals(*u.Signals, v.out.style)...)
	}
	rows = append(rows, []string{"seconds", fmt.Sprintf("%.2f: sample %.2f, rollout %.2f, judge %.2f, advantage %.2f, update %.2f, checkpoint %.2f, publish %.2f",
		s.Total(), s.Sample, s.Rollout, s.Judge, s.Advantage, s.Update, s.Checkpoint, s.Publish)})
	if u.Job != nil {
		rows = append(rows, []string{"job", usedLine(*u.Job)})
	}
	for _, name := range slices.Sorted(maps.Keys(u.Metrics)) {
		rows = append(rows, []string{name, fmt.Sprintf("%.6g", u.Metrics[name])})
	}
	for _, e := range u.Events {
		rows = append(rows, []string{"event", e.Kind + ": " + e.Text})
	}
	rows = append(rows, standing(u)...)
	v.out.rows(rows)
}

// standing are the warnings that stand since an earlier update, in the order of their names.
func standing(u rl.UpdateSummary) (rows [][]string) {
	if u.Watch == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(u.Watch.Standing)) {
		if since := u.Watch.Standing[name]; since < u.Update {
			rows = append(rows, []string{"stands", fmt.Sprintf("%s, since update %d (`longhaul show %s/%d`)", name, since, u.Run, since)})
		}
	}
	return rows
}

// ledgerLine is "1024 rollouts asked for: 640 trained on, 384 left out (zero_variance 384)".
func ledgerLine(l rl.Ledger) string {
	left := 0
	for _, n := range l.LeftOut {
		left += n
	}
	line := fmt.Sprintf("%d rollouts asked for: %d trained on, %d left out", l.Asked, l.Trained, left)
	if left > 0 {
		line += " (" + reasons(l.LeftOut) + ")"
	}
	if len(l.PutOff) > 0 {
		line += "; tasks put off by the curriculum: " + reasons(l.PutOff)
	}
	if !l.Balanced {
		line += "; THE SUMS DO NOT AGREE"
	}
	return line
}

// spentLine is "240 calls, 412000 tokens asked, 9100 answered, 0.5300 USD".
func spentLine(s rl.Spent) string {
	return fmt.Sprintf("%d calls, %d tokens asked, %d answered, %.4f USD", s.Calls, s.PromptTokens, s.ReplyTokens, s.USD)
}

// remarks says in brief what is out of the ordinary about a group's scores.
func remarks(s rl.Scores) string {
	var all []string
	if s.Flat != "" {
		all = append(all, "flat: "+s.Flat)
	}
	if all = append(all, s.Notes...); len(all) == 0 {
		return ""
	}
	return inBrief(strings.Join(all, "; "))
}

func scoreList(scores []rl.Score) string {
	var out []string
	for _, s := range scores {
		if s.Scored() {
			out = append(out, strconv.FormatFloat(s.Value, 'g', 3, 64))
		} else {
			out = append(out, "?")
		}
	}
	return strings.Join(out, " ")
}

func (v viewer) readUpdate(ctx context.Context, at address) (s shownUpdate, err error) {
	s = shownUpdate{Run: at.run, Update: at.update, Groups: []shownGroup{}}
	if s.Summary, err = find[rl.UpdateSummary](ctx, v.store, store.SummaryKey(at.run, at.update)); err != nil {
		return s, err
	}
	if s.Ledger, err = find[rl.Ledger](ctx, v.store, store.LedgerKey(at.run, at.update)); err != nil {
		return s, err
	}
	if s.Job, err = v.readJob(ctx, at); err != nil {
		return s, err
	}
	tasks, err := v.tasks(ctx, at)
	if err != nil {
		return s, err
	}
	if tasks == nil {
		if s.Summary == nil {
			return s, rl.Errorf(rl.NotFound, fmt.Sprintf("update %s/%d", at.run, at.update), "no such update (yet); `longhaul show %s` lists them", at.run)
		}
		return s, nil
	}
	for _, t := range *tasks {
		g, err := v.readGroup(ctx, at, t)
		if err != nil {
			return s, err
		}
		s.Groups = append(s.Groups, g)
	}
	return s, nil
}

func (v viewer) readGroup(ctx context.Context, at address, t rl.Task) (g shownGroup, err error) {
	g = shownGroup{ID: fmt.Sprintf("%s/%d/%s", at.run, at.update, t.ID), Task: t}
	if g.Scores, err = find[rl.Scores](ctx, v.store, store.ScoresKey(at.run, at.update, t.ID)); err != nil || g.Scores == nil {
		return g, err
	}
	n, sum, squares := 0.0, 0.0, 0.0
	for _, s := range g.Scores.Scores {
		if s.Scored() {
			n, sum = n+1, sum+s.Value
		}
	}
	g.Mean = sum / max(n, 1)
	for _, s := range g.Scores.Scores {
		if s.Scored() {
			squares += (s.Value - g.Mean) * (s.Value - g.Mean)
		}
	}
	g.Std = math.Sqrt(squares / max(n, 1))
	return g, nil
}

// find reads a record that may not be there (yet): nil then.
func find[T any](ctx context.Context, s *store.Store, key string) (*T, error) {
	_, v, err := store.FindJSON[T](ctx, s, key)
	if rl.KindOf(err) == rl.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &v, nil
}
