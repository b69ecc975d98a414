package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shownEpisode is `show RUN/UPDATE/TASK/MEMBER --json`.
type shownEpisode struct {
	ID         string         `json:"id"`         // RUN/UPDATE/TASK/MEMBER
	Key        string         `json:"key"`        // in the store
	Score      *rl.Score      `json:"score"`      // null: not judged yet
	Advantage  *float64       `json:"advantage"`  // mean over its sampled tokens; null: not trained on
	Advantages []float64      `json:"advantages"` // by turn; null: not trained on
	Slot       *rl.Slot       `json:"ledger"`     // null: the update is not that far
	Failed     *rl.Failure    `json:"failed"`     // null: there is a trajectory, or none yet
	Lineage    *lineage       `json:"lineage"`    // of the version that sampled its first turn
	Trajectory *rl.Trajectory `json:"trajectory"` // null: none
	Attempts   int            `json:"attempts"`   // of activities that took turns of it; above 1, it was interrupted
	Voided     int            `json:"voided"`     // times that it was begun anew, since its environment went another way
	Replays    []rl.Replay    `json:"replays"`
	Recorded   []rl.Turn      `json:"recorded,omitempty"` // where there is no trajectory: the turns that the journal has
}

// lineage is where a policy version comes from.
type lineage struct {
	Version  rl.Version `json:"version"`
	Manifest rl.Ref     `json:"manifest"`
	Parent   *rl.Ref    `json:"parent"` // null: the initial policy
}

func episodeRow(e shownEpisode) []string {
	row := []string{e.ID, "-", "-", "-", "-", "not done yet", ""}
	if e.Score != nil {
		row[1] = scoreList([]rl.Score{*e.Score})
	}
	if e.Advantage != nil {
		row[2] = fmt.Sprintf("%+.4f", *e.Advantage)
		if low, high := slices.Min(e.Advantages), slices.Max(e.Advantages); low < high {
			row[2] = fmt.Sprintf("%+.4f to %+.4f", low, high)
		}
	}
	if t := e.Trajectory; t != nil {
		row[3], row[4], row[5] = strconv.Itoa(len(t.Turns)), strconv.Itoa(t.ActionTokens()), string(t.Stop)
	}
	if e.Failed != nil {
		row[5] = "failed: " + inBrief(e.Failed.Why)
	}
	if e.Slot != nil {
		row[6] = string(e.Slot.LeftOut)
	}
	return row
}

func (v viewer) episode(ctx context.Context, at address) error {
	g, err := v.readMembers(ctx, at)
	if err != nil {
		return err
	}
	if at.member >= len(g.Members) {
		return rl.Errorf(rl.NotFound, fmt.Sprintf("episode %s/%d", g.ID, at.member), "the group has members 0 to %d; `longhaul show %s` lists them", len(g.Members)-1, g.ID)
	}
	e := g.Members[at.member]
	if e.Lineage, err = v.lineage(ctx, e.Trajectory); err != nil {
		return err
	}
	if err := v.readHistory(ctx, rl.EpisodeID{Run: at.run, Update: at.update, Task: at.task, Member: at.member}, &e); err != nil {
		return err
	}
	if v.out.json {
		return v.out.object(e)
	}
	rows := [][]string{{"episode", e.ID}, {"task", strings.TrimSpace(string(g.Task.ID) + " " + g.Task.Kind)}}
	rows = append(rows, lineageRow(e)...)
	if e.Attempts > 1 || e.Voided > 0 {
		rows = append(rows, []string{"attempts", fmt.Sprintf("%d, begun anew %d times", e.Attempts, e.Voided)})
	}
	v.head(rows, e)
	if len(e.Replays) > 0 {
		v.out.print("\n")
		v.out.rows(replayRows(e.Replays))
	}
	return nil
}

// readHistory reads what an episode's journal and replays say of it.
func (v viewer) readHistory(ctx context.Context, id rl.EpisodeID, e *shownEpisode) (err error) {
	episodes, _, err := v.store.Journal(store.JournalPrefix(id.Run, id.Update)).Load(ctx, map[rl.TaskID]bool{id.Task: true})
	if err != nil {
		return err
	}
	if j := episodes[rl.Member{Task: id.Task, Member: id.Member}]; j != nil {
		e.Attempts, e.Voided = j.Attempts, j.Voided
		for _, r := range j.Turns {
			if e.Trajectory == nil {
				e.Recorded = append(e.Recorded, r.Turn)
			}
		}
	}
	e.Replays, err = readReplays(ctx, v.store, id)
	return err
}

// head prints what is known of an episode, then the episode itself.
func (v viewer) head(rows [][]string, e shownEpisode) {
	v.out.rows(append(rows, []string{"stored", e.Key}))
	if e.Trajectory == nil {
		why := "it is not done yet"
		if e.Failed != nil {
			why = string(e.Failed.LeftOut) + ": " + e.Failed.Why
		}
		v.out.print("\nThere is no trajectory: %s\n", why)
		if len(e.Recorded) > 0 {
			v.out.print("\n%s", render.Trajectory(render.Episode{Trajectory: &rl.Trajectory{Turns: e.Recorded}}, v.out.width, v.out.style))
		}
		return
	}
	shown := render.Episode{Trajectory: e.Trajectory, Score: e.Score, Advantage: e.Advantage, Advantages: e.Advantages}
	if e.Slot != nil {
		shown.LeftOut = string(e.Slot.LeftOut)
	}
	v.out.print("\n%s", render.Trajectory(shown, v.out.width, v.out.style))
}

func lineageRow(e shownEpisode) [][]string {
	if e.Trajectory == nil {
		return nil
	}
	policy := string(e.Trajectory.Policy.First)
	if last := e.Trajectory.Policy.Last; string(last) != policy {
		policy += " to " + string(last)
	}
	if e.Lineage == nil {
		return [][]string{{"policy", policy}}
	}
	parent := "the initial policy"
	if e.Lineage.Parent != nil {
		parent = "trained from " + versionAt(e.Lineage.Parent.Key)
	}
	return [][]string{{"policy", fmt.Sprintf("%s (sha256 %.12s), %s", policy, e.Lineage.Manifest.SHA256, parent)}}
}
