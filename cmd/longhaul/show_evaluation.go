package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// plays are the ways in which an evaluation plays each task.
var plays = []string{"greedy", "sampled"}

// shownVersion is `show RUN@VERSION --json`.
type shownVersion struct {
	Version     rl.Version      `json:"version"`
	Manifest    rl.Ref          `json:"manifest"`
	Checkpoint  rl.Checkpoint   `json:"checkpoint"`
	Retired     *retirement     `json:"retired"` // null: its files are there
	Evaluations []rl.Evaluation `json:"evaluations"`
}

// shownEvaluation is `show RUN@VERSION/EVALUATION --json`. The result is null while it is under way.
type shownEvaluation struct {
	ID       string         `json:"id"`
	Result   *rl.Evaluation `json:"result"`
	Episodes []shownEpisode `json:"episodes"`
}

// retirement is when gc removed a checkpoint, and why.
type retirement struct {
	Time time.Time `json:"time"`
	Why  string    `json:"why"`
}

func (v viewer) version(ctx context.Context, at address) error {
	ref, c, gone, err := v.manifest(ctx, at.run, at.update)
	if rl.KindOf(err) == rl.NotFound {
		return rl.Errorf(rl.NotFound, "version "+string(at.version), "no such checkpoint; `longhaul show %s` lists what there is", at.run)
	}
	if err != nil {
		return err
	}
	s := shownVersion{Version: at.version, Manifest: ref, Checkpoint: c, Retired: gone}
	if s.Evaluations, err = v.readEvaluations(ctx, at.run, at.update); err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(s)
	}
	parent := "none, it is the initial policy"
	if c.Parent != nil {
		parent = manifest(c.Parent)
	}
	about := [][]string{{"version", manifest(&ref)}, {"parent", parent}}
	if gone != nil {
		about = append(about, []string{"retired", fmt.Sprintf("%s by gc: %s", gone.Time.Format(time.RFC3339), gone.Why)})
	}
	v.out.rows(about)
	rows := [][]string{{"FILE", "SIZE", "FORMAT", "SHA256"}}
	for _, f := range c.Files {
		rows = append(rows, []string{f.Name, size(f.Size), c.Formats[f.Name], f.SHA256})
	}
	v.out.print("\n")
	v.out.rows(rows)
	v.evaluations(s.Evaluations)
	return nil
}

// manifest reads the checkpoint that an update made, or what gc left of it. Errors as Store.Checkpoint.
func (v viewer) manifest(ctx context.Context, run rl.RunID, n rl.UpdateNumber) (rl.Ref, rl.Checkpoint, *retirement, error) {
	ref, c, err := v.store.FindCheckpoint(ctx, run, n)
	if rl.KindOf(err) != rl.NotFound {
		return ref, c, nil, err
	}
	r, err := v.store.Retired(ctx, run, n)
	return r.Manifest, r.Checkpoint, &retirement{r.Time, r.Why}, err
}

// readEvaluations reads the finished evaluations of a run, of one version only when n is not negative.
func (v viewer) readEvaluations(ctx context.Context, run rl.RunID, n rl.UpdateNumber) ([]rl.Evaluation, error) {
	names, err := v.store.Names(ctx, store.RunPrefix(run)+"evals/")
	if err != nil {
		return nil, err
	}
	all := []rl.Evaluation{}
	for _, name := range names {
		number, hash, _ := strings.Cut(strings.TrimSuffix(name, "/"), "-")
		of, err := strconv.Atoi(number)
		if err != nil || n >= 0 && rl.UpdateNumber(of) != n {
			continue
		}
		e, err := find[rl.Evaluation](ctx, v.store, store.EvaluationKey(run, rl.UpdateNumber(of), hash))
		if err != nil {
			return nil, err
		}
		if e != nil {
			all = append(all, *e)
		}
	}
	return all, nil
}

func (v viewer) evaluation(ctx context.Context, at address) error {
	s := shownEvaluation{ID: string(at.version) + "/" + at.evaluation, Episodes: []shownEpisode{}}
	list, err := find[[]rl.Task](ctx, v.store, store.EvaluationTasksKey(at.run, at.update, at.evaluation))
	if err != nil {
		return err
	}
	if list == nil {
		return rl.Errorf(rl.NotFound, "evaluation "+s.ID, "no such evaluation; `longhaul show %s` lists them", at.version)
	}
	if s.Result, err = find[rl.Evaluation](ctx, v.store, store.EvaluationKey(at.run, at.update, at.evaluation)); err != nil {
		return err
	}
	rows := [][]string{{"EPISODES", "KIND", "GREEDY", "SAMPLED", "TURNS"}}
	for _, t := range *list {
		row := []string{s.ID + "/" + string(t.ID), t.Kind}
		var turns []string
		for _, play := range plays {
			e, err := v.readPlayed(ctx, at, t.ID, play)
			if err != nil {
				return err
			}
			s.Episodes = append(s.Episodes, e)
			cells := episodeRow(e)
			row, turns = append(row, cells[1]), append(turns, cells[3])
		}
		rows = append(rows, append(row, strings.Join(turns, " ")))
	}
	if v.out.json {
		return v.out.object(s)
	}
	if s.Result != nil {
		v.out.print("%s\n\n", render.Evaluation(*s.Result))
	}
	v.out.rows(rows)
	return nil
}

// readPlayed reads one episode of an evaluation. Its score is the environment's own.
func (v viewer) readPlayed(ctx context.Context, at address, task rl.TaskID, play string) (shownEpisode, error) {
	e := shownEpisode{
		ID:  fmt.Sprintf("%s/%s/%s/%s", at.version, at.evaluation, task, play),
		Key: store.EvaluationTrajectoryKey(at.run, at.update, at.evaluation, play, task),
	}
	err := v.readEpisode(ctx, &e)
	if e.Trajectory != nil {
		e.Score = &e.Trajectory.Outcome
	}
	return e, err
}

// played shows a task's two episodes side by side.
func (v viewer) played(ctx context.Context, at address) error {
	task, err := v.task(ctx, store.EvaluationTasksKey(at.run, at.update, at.evaluation), at, string(at.version)+"/"+at.evaluation)
	if err != nil {
		return err
	}
	var both []shownEpisode
	for _, play := range plays {
		e, err := v.readPlayed(ctx, at, at.task, play)
		if err != nil {
			return err
		}
		both = append(both, e)
	}
	if v.out.json {
		return v.out.object(both)
	}
	rows := [][]string{{"EPISODE", "KIND", "SCORE", "STOP"}}
	for _, e := range both {
		cells := episodeRow(e)
		rows = append(rows, []string{e.ID, task.Kind, cells[1], cells[5]})
	}
	v.out.rows(rows)
	v.out.print("\n%s", render.Beside(
		render.Column{Title: plays[0], Episode: render.Episode{Trajectory: both[0].Trajectory}},
		render.Column{Title: plays[1], Episode: render.Episode{Trajectory: both[1].Trajectory}}, v.out.width, v.out.style))
	return nil
}

func (v viewer) playedOnce(ctx context.Context, at address) error {
	task, err := v.task(ctx, store.EvaluationTasksKey(at.run, at.update, at.evaluation), at, string(at.version)+"/"+at.evaluation)
	if err != nil {
		return err
	}
	e, err := v.readPlayed(ctx, at, at.task, at.play)
	if err != nil {
		return err
	}
	if e.Lineage, err = v.lineage(ctx, e.Trajectory); err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(e)
	}
	rows := [][]string{{"episode", e.ID}, {"task", strings.TrimSpace(string(task.ID) + " " + task.Kind)}}
	v.head(append(rows, lineageRow(e)...), e)
	return nil
}
