package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/advantage"
	"github.com/longhaul-rl/longhaul/rl"
)

// ledgerTable prints updates' ledgers as rows. What no update has, a judge or jobs of their own, has no columns.
type ledgerTable struct{ judged, launched bool }

func (t ledgerTable) head() []string {
	head := []string{"UPDATE", "ASKED", "TRAINED", "LEFT OUT", "TRUNCATED", "TOKENS", "USD"}
	if t.judged {
		head = append(head, "JUDGE CALLS", "JUDGE TOKENS", "NOTES")
	}
	if t.launched {
		head = append(head, "JOB ATTEMPTS", "JOB QUEUED", "JOB RAN", "JOB IDLE")
	}
	return append(head, "WHY")
}

func (t ledgerTable) row(name string, l rl.Ledger, job rl.JobUse) []string {
	left := 0
	for _, n := range l.LeftOut {
		left += n
	}
	cells := []string{name, fmt.Sprint(l.Asked), fmt.Sprint(l.Trained), fmt.Sprint(left), fmt.Sprint(l.Truncated), fmt.Sprint(l.Tokens), fmt.Sprintf("%.4f", l.USD+job.USD)}
	if t.judged {
		cells = append(cells, fmt.Sprint(l.Judge.Calls), fmt.Sprint(l.Judge.PromptTokens+l.Judge.ReplyTokens), fmt.Sprint(len(l.Notes)))
	}
	if t.launched {
		cells = append(cells, fmt.Sprint(job.Attempts), seconds(job.QueuedSeconds), seconds(job.RanSeconds), seconds(job.IdleSeconds))
	}
	return append(cells, whyOf(l))
}

// printLedgers prints a row an update, their sum, and what is lopsided in what was left out. A job is nil where the update had none.
func (a *app) printLedgers(ledgers []rl.Ledger, jobs []*rl.JobUse) {
	total, took := rl.Ledger{LeftOut: map[rl.LeftOut]int{}}, rl.JobUse{}
	ledgers, used := slices.Clone(ledgers), make([]rl.JobUse, len(jobs))
	for i := range ledgers {
		ledgers[i].Balance() // what is stored may say otherwise
		l := ledgers[i]
		if jobs[i] != nil {
			used[i] = *jobs[i]
			took.Add(used[i])
		}
		total.Judge.Add(l.Judge)
		total.Notes = append(total.Notes, l.Notes...)
		total.Asked, total.Trained, total.Truncated = total.Asked+l.Asked, total.Trained+l.Trained, total.Truncated+l.Truncated
		total.Tokens, total.USD, total.Slots = total.Tokens+l.Tokens, total.USD+l.USD, append(total.Slots, l.Slots...)
		for why, n := range l.LeftOut {
			total.LeftOut[why] += n
		}
	}
	t := ledgerTable{judged: total.Judge.Calls > 0 || len(total.Notes) > 0, launched: took.Attempts > 0}
	rows := [][]string{t.head()}
	for i, l := range ledgers {
		rows = append(rows, t.row(fmt.Sprint(l.Update), l, used[i]))
	}
	total.Balance()
	a.out.rows(append(rows, t.row("all", total, took)))
	for _, w := range advantage.Bias(ledgers...) {
		a.out.print("warning: %s\n", w)
	}
}

// whyOf is the last cell of an update's row: why rollouts were left out, and what else is to be said.
func whyOf(l rl.Ledger) string {
	var why []string
	if len(l.LeftOut) > 0 {
		why = append(why, reasons(l.LeftOut))
	}
	if len(l.PutOff) > 0 {
		why = append(why, "tasks put off: "+reasons(l.PutOff))
	}
	if !l.Balanced {
		why = append(why, "THE SUMS DO NOT AGREE")
	}
	return strings.Join(why, "; ")
}
