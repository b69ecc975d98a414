package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Table is the live table of a run's updates. The columns that fit its width are shown, the most telling first.
type Table struct {
	Updates int // of the run
	Width   int
	Style   Style
}

type column struct {
	title string
	width int
	drop  int // a column with a higher number goes first when the table is too wide; 0 stays
	value func(u rl.UpdateSummary, of int, eta time.Duration) string
}

var table = []column{
	{"update", 7, 0, func(u rl.UpdateSummary, of int, _ time.Duration) string { return fmt.Sprintf("%d/%d", u.Update, of) }},
	{"success", 7, 0, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return share(u.Success) }},
	{"reward", 11, 3, func(u rl.UpdateSummary, _ int, _ time.Duration) string {
		return fmt.Sprintf("%.2f ± %.2f", u.RewardMean, u.RewardStd)
	}},
	{"flat", 5, 2, func(u rl.UpdateSummary, _ int, _ time.Duration) string {
		return fmt.Sprintf("%.0f%%", 100*u.Flat())
	}},
	{"tok/s", 6, 4, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return rate(u.Tokens, u.Seconds.Rollout) }},
	{"pass@k", 7, 10, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return widest(u) }},
	{"entropy", 7, 11, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return metric(u, "entropy", "%.3f") }},
	{"turns/s", 7, 7, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return rate(u.Turns, u.Seconds.Rollout) }},
	{"loss", 8, 6, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return fmt.Sprintf("%.4f", u.Loss) }},
	{"kl", 6, 5, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return metric(u, "kl", "%.4f") }},
	{"clip", 5, 8, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return metric(u, "clip_fraction", "%.3f") }},
	{"roll+judge+upd+rest s", 21, 9, func(u rl.UpdateSummary, _ int, _ time.Duration) string {
		s := u.Seconds
		return fmt.Sprintf("%.1f+%.1f+%.1f+%.1f", s.Rollout, s.Judge, s.Update, s.Total()-s.Rollout-s.Judge-s.Update)
	}},
	{"s", 6, 1, func(u rl.UpdateSummary, _ int, _ time.Duration) string { return fmt.Sprintf("%.1f", u.Seconds.Total()) }},
	{"left", 7, 0, func(_ rl.UpdateSummary, _ int, eta time.Duration) string { return Duration(eta) }},
}

// Legend explains the columns whose titles need it.
const Legend = "success: full reward, share of episodes; reward: mean and spread within groups; flat: groups without spread, which teach nothing; pass@k: share of tasks that one of k tries solves; " +
	"kl, clip: how far the update moved; left: time to the end"

func (t Table) columns() []column {
	cols := append([]column(nil), table...)
	for {
		total, worst := -1, 0
		for i, c := range cols {
			total += c.width + 1
			if c.drop > cols[worst].drop {
				worst = i
			}
		}
		if total <= t.Width || cols[worst].drop == 0 {
			return cols
		}
		cols = append(cols[:worst], cols[worst+1:]...)
	}
}

// Header is the titles of the columns, with a line break.
func (t Table) Header() string {
	var cells []string
	for _, c := range t.columns() {
		cells = append(cells, left(c.title, c.width))
	}
	return t.Style.paint(heavy, strings.Join(cells, " ")) + "\n"
}

// Row is one update's line, with a line break. eta is the time that the run has still to go, negative when unknown.
func (t Table) Row(u rl.UpdateSummary, eta time.Duration) string {
	var cells []string
	for _, c := range t.columns() {
		cell := left(c.value(u, t.Updates, eta), c.width)
		if t.Style.ASCII {
			cell = strings.ReplaceAll(cell, " ± ", "+-")
			cell = left(cell, c.width)
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " ") + "\n"
}

// Line is an update's line where there is no terminal: everything, by name, without a line break.
func (t Table) Line(u rl.UpdateSummary, eta time.Duration) string {
	s := u.Seconds
	return fmt.Sprintf("update %d/%d success=%s reward_mean=%.4f reward_std=%.4f zero_variance=%s loss=%.5f kl=%s clip=%s tokens_per_s=%s turns_per_s=%s"+
		"%s seconds=%.2f (sample %.2f, rollout %.2f, judge %.2f, advantage %.2f, update %.2f, checkpoint %.2f, publish %.2f) left=%s",
		u.Update, t.Updates, share(u.Success), u.RewardMean, u.RewardStd, share(u.ZeroVarianceFraction), u.Loss, metric(u, "kl", "%.5f"),
		metric(u, "clip_fraction", "%.4f"), rate(u.Tokens, s.Rollout), rate(u.Turns, s.Rollout), more(u),
		s.Total(), s.Sample, s.Rollout, s.Judge, s.Advantage, s.Update, s.Checkpoint, s.Publish, Duration(eta))
}

// more is what a line says of an update that knows it.
func more(u rl.UpdateSummary) string {
	words := ""
	for _, name := range []string{"entropy", "grad_norm", "reference_kl", "mismatch_kl", "ratio_max"} {
		if v, ok := u.Metrics[name]; ok {
			words += fmt.Sprintf(" %s=%.4g", name, v)
		}
	}
	if s := u.Signals; s != nil {
		if n := len(s.PassAt); n > 0 {
			words += fmt.Sprintf(" pass_at_%d=%s", s.PassAt[n-1].K, share(s.PassAt[n-1].Rate))
		}
		words += fmt.Sprintf(" turns_mean=%.1f tokens_mean=%.1f truncated=%s lost=%s", s.Turns, s.Tokens, share(s.Truncated), share(s.Lost))
	}
	return words
}

// widest is pass@k for the largest k, as 0.81@8.
func widest(u rl.UpdateSummary) string {
	if u.Signals == nil || len(u.Signals.PassAt) == 0 {
		return "-"
	}
	r := u.Signals.PassAt[len(u.Signals.PassAt)-1]
	return fmt.Sprintf("%.2f@%d", r.Rate, r.K)
}

func share(v float64) string { return fmt.Sprintf("%.3f", v) }

func metric(u rl.UpdateSummary, name, format string) string {
	v, ok := u.Metrics[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// rate is n a second: 850, 22.1k, 1.3M.
func rate(n int, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	switch v := float64(n) / seconds; {
	case v >= 999_500:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 9995:
		return fmt.Sprintf("%.1fk", v/1e3)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// Duration is a time to go for people: 8s, 1m20s, 2h05m, 3d04h, or - when it is negative.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	d = d.Round(time.Second)
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}
