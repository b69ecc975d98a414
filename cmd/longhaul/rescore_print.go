package main

import (
	"fmt"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

var agreementHead = []string{"UPDATE", "GROUPS", "MEMBERS", "COMPARED", "TAU-B", "SIGN CHANGES", "SILENCED", "AWAKENED", "CALLS", "USD"}

func agreementRow(name string, a activities.Agreement) []string {
	return []string{name, fmt.Sprint(a.Groups), fmt.Sprint(a.Members), fmt.Sprint(a.Compared), orNone("%.3f", a.TauB), fmt.Sprint(len(a.SignChanges)),
		fmt.Sprint(a.Silenced), fmt.Sprint(a.Awakened), fmt.Sprint(a.Spent.Calls), fmt.Sprintf("%.4f", a.Spent.USD)}
}

// orNone is a number, or a dash where there is none.
func orNone(format string, v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

// mostSigns bounds how many episodes are listed where people read.
const mostSigns = 20

func (r *rescorer) printSigns(all []activities.SignChange) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"PUSHED THE OTHER WAY", "WAS", "IS"}}
	for _, s := range all[:min(len(all), mostSigns)] {
		rows = append(rows, []string{s.Episode, fmt.Sprintf("%+.4f", s.Was), fmt.Sprintf("%+.4f", s.Is)})
	}
	r.out.print("\n")
	r.out.rows(rows)
	if more := len(all) - mostSigns; more > 0 {
		r.out.print("and %d more; --json lists them all\n", more)
	}
}

// inWords names a reward: "judge gpt-5 at https://..., 2 passes".
func inWords(r rl.RewardConfig) string {
	words := r.Use
	for _, t := range r.Add.Terms() {
		words += fmt.Sprintf(" + %g %s", t.Weight, t.Name)
	}
	if r.Gate != "" {
		words += " behind " + r.Gate
	}
	if r.Judges() {
		words += fmt.Sprintf(" (%s at %s, %s", r.Model, r.URL, passes(r.Passes))
		if r.Rubric != "" {
			words += fmt.Sprintf(", rubric %q", inBrief(r.Rubric))
		}
		words += ")"
	}
	return words
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

func spendLine(s rl.Spend, r rl.RewardConfig) string {
	calls, usd := s.Most()
	if calls == 0 {
		return "judging has cost the run nothing"
	}
	line := fmt.Sprintf("judging has cost the run %.4f USD at most, in %d calls", usd, calls)
	if r.MaxUSD > 0 {
		line += fmt.Sprintf("; the limit is %g USD", r.MaxUSD)
	}
	return line
}
