package activities

import (
	"bytes"
	"context"
	"slices"

	"github.com/longhaul-rl/longhaul/advantage"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// ComputeAdvantagesIn names the update's tasks and the version that is current.
type ComputeAdvantagesIn struct {
	Stage
	Tasks   rl.Ref          `json:"tasks"`
	More    []rl.Ref        `json:"more,omitempty"` // tasks of further rounds
	Current rl.UpdateNumber `json:"current"`        // update of the version that will be trained; staleness counts from it
}

// ComputeAdvantagesOut refers to the batch and the ledger.
type ComputeAdvantagesOut struct {
	Batch         rl.Ref             `json:"batch"`
	Ledger        rl.Ref             `json:"ledger"`
	Sequences     int                `json:"sequences"`
	Tokens        int                `json:"tokens"` // of all sequences
	TrainedTokens int                `json:"trained_tokens"`
	Versions      []rl.Version       `json:"versions"`
	LeftOut       map[rl.LeftOut]int `json:"left_out,omitempty"`
	Stats         advantage.Stats    `json:"stats"`
}

// ComputeAdvantages turns the scored groups of an update into its batch, and writes the ledger that says where
// every rollout ended. Pure arithmetic over what is stored: a second run gives the same bytes.
func (a *Activities) ComputeAdvantages(ctx context.Context, in ComputeAdvantagesIn) (ComputeAdvantagesOut, error) {
	defer beat(ctx)()
	out, err := a.computeAdvantages(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) computeAdvantages(ctx context.Context, in ComputeAdvantagesIn) (out ComputeAdvantagesOut, err error) {
	st, cfg, all, err := a.openTasks(ctx, in.Stage, in.Tasks)
	if err != nil {
		return out, err
	}
	for _, ref := range in.More {
		_, _, more, err := a.openTasks(ctx, in.Stage, ref)
		if err != nil {
			return out, err
		}
		all = slices.Concat(all, more)
	}
	groups, scores := make([]rl.Group, len(all)), make([]rl.Scores, len(all))
	for i, task := range all {
		if groups[i], err = a.readGroup(ctx, st, in.Stage, task, cfg.Group.Size); err != nil {
			return out, err
		}
		if scores[i], err = a.scores(ctx, st, in.Stage, cfg, task); err != nil {
			return out, err
		}
	}
	batch, ledger, stats, err := advantage.Assemble(in.Run, in.Current+1, groups, scores, cfg)
	if err != nil {
		return out, err
	}
	ledger.Update = in.Update
	judged(&ledger, scores)
	if cfg.Curriculum.Floor > 0 {
		_, c, _, err := recorded[rl.Curriculum](ctx, st, store.CurriculumKey(in.Run, in.Update))
		if err != nil {
			return out, err
		}
		ledger.PutOff = c.PutOff
	}
	// What an earlier walk of the update wrote stands: it may have met a record that has been mended since.
	ledgerRef, _, err := st.PutFirst(ctx, store.LedgerKey(in.Run, in.Update), rl.CanonicalJSON(ledger))
	if err != nil {
		return out, err
	}
	mine := store.EncodeBatch(batch)
	ref, body, err := st.PutBatch(ctx, store.BatchKey(in.Run, in.Update), mine)
	if err == nil && !bytes.Equal(body, mine) {
		batch, err = store.DecodeBatch(body)
	}
	if err != nil {
		return out, err
	}
	out = ComputeAdvantagesOut{
		Batch: ref, Ledger: ledgerRef, Sequences: len(batch.Samples), TrainedTokens: batch.TrainedTokens(), Versions: batch.Versions,
		LeftOut: ledger.LeftOut, Stats: stats,
	}
	for _, s := range batch.Samples {
		out.Tokens += len(s.Tokens)
	}
	return out, nil
}

// judged enters what the judge took and noted.
func judged(ledger *rl.Ledger, scores []rl.Scores) {
	for _, s := range scores {
		ledger.Judge.Add(s.Spent)
		for _, note := range s.Notes {
			ledger.Notes = append(ledger.Notes, rl.Note{Task: s.Task, Text: note})
		}
	}
	ledger.USD = ledger.Judge.USD
}
