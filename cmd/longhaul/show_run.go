package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// viewer shows what the store holds of a run.
type viewer struct {
	store *store.Store
	out   *output
}

// shownRun is `show RUN --json`.
type shownRun struct {
	Run         rl.RunID           `json:"run"`
	Config      rl.Config          `json:"config"`  // as it stands
	Changes     []rl.Change        `json:"changes"` // of it, by people, oldest first
	Updates     []rl.UpdateSummary `json:"updates"`
	Evaluations []rl.Evaluation    `json:"evaluations"`
	Latest      *rl.Ref            `json:"latest"` // manifests
	Best        *rl.Ref            `json:"best"`
	Spend       *rl.Spend          `json:"spend"` // all that was paid to judges, whether their scores count or not; null: nothing
}

func (v viewer) run(ctx context.Context, id rl.RunID) error {
	s, err := v.readRun(ctx, id)
	if err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(s)
	}
	c := s.Config
	rows := [][]string{
		{"run", string(id)},
		{"environment", fmt.Sprintf("%s, tasks %s, held out %s", c.Env.Use, c.Env.Tasks.Train, c.Env.Tasks.Eval)},
		{"policy", strings.TrimSpace(c.Policy.Use + " " + c.Policy.Model)},
		{"recipe", fmt.Sprintf("%d groups of %d, %s, %s, learning rate %g", c.Group.PerUpdate, c.Group.Size, c.Advantage.Use, c.Loss.Use, c.Update.LearningRate)},
		{"updates", fmt.Sprintf("%d of %d", done(s.Updates), c.Updates)},
		{"latest", manifest(s.Latest)},
		{"best", manifest(s.Best)},
	}
	if s.Spend != nil {
		rows = append(rows, []string{"judge", spendLine(*s.Spend, c.Reward)})
	}
	v.out.rows(rows)
	v.changes(s.Changes)
	v.evaluations(s.Evaluations)
	if len(s.Updates) == 0 {
		v.out.print("\nNo update is done yet.\n")
		return nil
	}
	v.out.print("\nSuccess over updates\n%s", curve(s, v.out))
	if rows := render.Courses(s.Updates, v.out.style); rows != nil {
		v.out.print("\n")
		v.out.rows(rows)
	}
	rows = [][]string{{"UPDATE", "SUCCESS", "REWARD", "SPREAD", "FLAT GROUPS", "LOSS", "KL", "TOKENS", "SECONDS", "EVENTS"}}
	for _, u := range s.Updates {
		rows = append(rows, updateRow(u))
	}
	v.out.print("\n")
	v.out.rows(rows)
	return nil
}

func (v viewer) changes(all []rl.Change) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"CHANGED", "FROM UPDATE", "BY", "WHAT", "WHY"}}
	for _, c := range all {
		rows = append(rows, []string{c.Time.Local().Format("2006-01-02 15:04:05"), fmt.Sprint(c.Update), c.By, c.Text, inBrief(c.Why)})
	}
	v.out.print("\n")
	v.out.rows(rows)
}

func (v viewer) evaluations(all []rl.Evaluation) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"EVALUATION", "TASKS", "GREEDY", "SAMPLED"}}
	if slices.ContainsFunc(all, func(e rl.Evaluation) bool { return e.Model != "" }) {
		rows[0] = append(rows[0], "PLAYED BY")
	}
	for _, e := range all {
		rows = append(rows, []string{string(e.Version) + "/" + e.Key, strconv.Itoa(e.Tasks), render.Rate(e.Greedy), render.Rate(e.Sampled), e.Model})
	}
	v.out.print("\n")
	v.out.rows(rows)
}

func updateRow(u rl.UpdateSummary) []string {
	kl := "-"
	if k, ok := u.Metrics["kl"]; ok {
		kl = fmt.Sprintf("%.4f", k)
	}
	var events []string
	for _, e := range u.Events {
		events = append(events, cmp.Or(e.Name, e.Kind))
	}
	row := []string{fmt.Sprintf("%s/%d", u.Run, u.Update), fmt.Sprintf("%.3f", u.Success), fmt.Sprintf("%.3f", u.RewardMean), fmt.Sprintf("%.3f", u.RewardStd),
		fmt.Sprintf("%.0f %%", 100*u.Flat()), fmt.Sprintf("%.4f", u.Loss), kl, strconv.Itoa(u.Tokens), fmt.Sprintf("%.1f", u.Seconds.Total()), strings.Join(events, " ")}
	if u.Update == 0 { // the warm-up samples nothing
		for i := 1; i < 5; i++ {
			row[i] = "-"
		}
	}
	return row
}

func curve(s shownRun, o *output) string {
	training := render.Series{Name: "sampled in training", Mark: '.'}
	for _, u := range s.Updates {
		if u.Update > 0 {
			training.X, training.Y = append(training.X, int(u.Update)), append(training.Y, u.Success)
		}
	}
	held := render.Series{Name: "held out, the lower of greedy and sampled", Mark: 'o'}
	for _, e := range s.Evaluations {
		if _, n, err := e.Version.Parse(); err == nil && e.Model == "" {
			held.X, held.Y = append(held.X, int(n)), append(held.Y, e.Success())
		}
	}
	return render.Curve([]render.Series{training, held}, max(done(s.Updates), 1), min(o.width, 100), 14, o.style)
}

// manifest is a checkpoint as one would go on to show it, and where it lies.
func manifest(r *rl.Ref) string {
	if r == nil {
		return "none yet"
	}
	return fmt.Sprintf("%s (%s, sha256 %.12s)", versionAt(r.Key), r.Key, r.SHA256)
}

// versionAt is the version whose manifest has this key, or the key itself when it is none.
func versionAt(key string) string {
	run, file, _ := strings.Cut(strings.TrimPrefix(key, "runs/"), "/ckpt/")
	n, err := strconv.Atoi(strings.TrimSuffix(file, ".json"))
	if err != nil || store.CheckpointKey(rl.RunID(run), rl.UpdateNumber(n)) != key {
		return key
	}
	return string(rl.VersionOf(rl.RunID(run), rl.UpdateNumber(n)))
}

func done(all []rl.UpdateSummary) int {
	if len(all) == 0 {
		return 0
	}
	return int(all[len(all)-1].Update)
}

func (v viewer) readRun(ctx context.Context, id rl.RunID) (s shownRun, err error) {
	s = shownRun{Run: id, Updates: []rl.UpdateSummary{}, Evaluations: []rl.Evaluation{}}
	if _, s.Config, err = v.store.Config(ctx, id); err != nil {
		return s, noRun(id, err)
	}
	if s.Changes, err = v.store.Changes(ctx, id); err != nil {
		return s, err
	}
	if s.Spend, err = find[rl.Spend](ctx, v.store, store.SpendKey(id)); err != nil {
		return s, err
	}
	numbers, err := updatesDone(ctx, v.store, id)
	if err != nil {
		return s, err
	}
	for _, n := range numbers {
		_, u, err := store.FindJSON[rl.UpdateSummary](ctx, v.store, store.SummaryKey(id, n))
		if err != nil {
			return s, err
		}
		s.Updates = append(s.Updates, u)
	}
	if s.Evaluations, err = v.readEvaluations(ctx, id, -1); err != nil {
		return s, err
	}
	for _, p := range []struct {
		name string
		to   **rl.Ref
	}{{store.Latest, &s.Latest}, {store.Best, &s.Best}} {
		ref, err := v.store.Pointer(ctx, id, p.name)
		if rl.KindOf(err) == rl.NotFound {
			continue
		}
		if err != nil {
			return s, err
		}
		*p.to = &ref
	}
	return s, nil
}

// noRun puts a missing configuration into words.
func noRun(id rl.RunID, err error) error {
	if rl.KindOf(err) == rl.NotFound {
		return rl.Errorf(rl.NotFound, "run "+string(id), "no such run; `longhaul runs` lists them")
	}
	return err
}

// updatesDone lists the updates that have a summary, in order. They are written one after another, so only the last
// ones can be without.
func updatesDone(ctx context.Context, s *store.Store, run rl.RunID) ([]rl.UpdateNumber, error) {
	all, err := updatesBegun(ctx, s, run)
	if err != nil {
		return nil, err
	}
	for len(all) > 0 {
		_, err := s.Head(ctx, store.SummaryKey(run, all[len(all)-1]))
		if err == nil {
			break
		}
		if rl.KindOf(err) != rl.NotFound {
			return nil, err
		}
		all = all[:len(all)-1]
	}
	return all, nil
}

// updatesBegun lists the updates of which anything is recorded, in order.
func updatesBegun(ctx context.Context, s *store.Store, run rl.RunID) (all []rl.UpdateNumber, err error) {
	names, err := s.Names(ctx, store.RunPrefix(run)+"updates/")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if n, err := strconv.Atoi(strings.TrimSuffix(name, "/")); err == nil && n >= 0 {
			all = append(all, rl.UpdateNumber(n))
		}
	}
	return all, nil
}
