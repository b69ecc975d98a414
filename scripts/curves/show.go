package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const page = "docs/results.md"

// show makes the table and the picture from the files in dir.
func (s set) show(name, dir string) error {
	all := map[string][]result{}
	for _, w := range s.settings {
		for _, seed := range s.seeds {
			b, err := os.ReadFile(filepath.Join(dir, fileName(w.name, seed)))
			if os.IsNotExist(err) {
				continue
			}
			var r result
			if err == nil {
				err = json.Unmarshal(b, &r)
			}
			if err != nil {
				return err
			}
			all[w.name] = append(all[w.name], r)
		}
	}
	if err := s.picture(all, filepath.Join("docs", "curves-"+name+".svg")); err != nil {
		return err
	}
	return keep(name, s.table(all))
}

// table has a line a setting: means over seeds with the 95 % interval of Student's t, the worst seed, and for each seed when its
// training passed 90 % success. Held-out success is of the last update, so settings that made more updates than others are compared
// with them by the column that is of the same updates.
func (s set) table(all map[string][]result) string {
	last := s.shortest(all)
	var b bytes.Buffer
	fmt.Fprintf(&b, "| setting | updates | seeds | held out before | held out after, 95 %% interval | worst seed | success in updates %d-%d, 95 %% interval | first update with 90 %% success, by seed |\n|---|---|---|---|---|---|---|---|\n", last-9, last)
	for _, w := range s.settings {
		rs := all[w.name]
		if len(rs) == 0 {
			continue
		}
		var before, after, late []float64
		var passed []string
		for _, r := range rs {
			before, after = append(before, r.Before.success()), append(after, r.After.success())
			mean, _ := interval(r.Success[last-10 : last])
			late, passed = append(late, mean), append(passed, r.passed())
		}
		b0, _ := interval(before)
		fmt.Fprintf(&b, "| %s | %d | %d | %.3f | %s | %.3f | %s | %s |\n",
			w.name, len(rs[0].Success), len(rs), b0, within(after), slices.Min(after), within(late), strings.Join(passed, ", "))
	}
	return b.String()
}

// shortest is the number of updates that every run has.
func (s set) shortest(all map[string][]result) int {
	n := math.MaxInt
	for _, rs := range all {
		for _, r := range rs {
			n = min(n, len(r.Success))
		}
	}
	return n
}

// longest is the number of updates of the longest run.
func (s set) longest(all map[string][]result) (n int) {
	for _, rs := range all {
		for _, r := range rs {
			n = max(n, len(r.Success))
		}
	}
	return n
}

// passed is the first update with 90 % success, or "never".
func (r result) passed() string {
	n := slices.IndexFunc(r.Success, func(s float64) bool { return s >= .9 })
	if n < 0 {
		return "never"
	}
	return fmt.Sprint(n + 1)
}

// student is the 97.5 % quantile of Student's t by degrees of freedom, from 1.
var student = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// interval is the mean of v and half the width of its 95 % interval; NaN of one value.
func interval(v []float64) (mean, half float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	squares := 0.0
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	n := len(v)
	if n < 2 {
		return mean, math.NaN()
	}
	return mean, student[min(n-2, len(student)-1)] * math.Sqrt(squares/float64(n-1)/float64(n))
}

// within is a mean with its interval, which a single value has not.
func within(v []float64) string {
	mean, half := interval(v)
	if len(v) < 2 {
		return fmt.Sprintf("%.3f", mean)
	}
	return fmt.Sprintf("%.3f ± %.3f", mean, half)
}

// picture draws training success by update, a panel for each half of the settings' names: mean over seeds, and their range.
func (s set) picture(all map[string][]result, file string) error {
	const columns = 3
	rows := (len(s.settings) + columns - 1) / columns
	plots := make([][]*plot.Plot, rows)
	for i, w := range s.settings {
		p := plot.New()
		p.Title.Text = w.name
		p.Y.Min, p.Y.Max, p.X.Min, p.X.Max = 0, 1, 0, float64(s.longest(all))
		p.Add(plotter.NewGrid())
		if err := curve(p, all[w.name]); err != nil {
			return err
		}
		plots[i/columns] = append(plots[i/columns], p)
	}
	for len(plots[rows-1]) < columns {
		plots[rows-1] = append(plots[rows-1], nil)
	}
	canvas := vgsvg.New(9*vg.Inch, vg.Length(rows)*2.2*vg.Inch)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 12, PadY: 12, PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 6}
	for i, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for j, c := range row {
			if plots[i][j] != nil {
				plots[i][j].Draw(c)
			}
		}
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// curve adds the range over seeds, shaded, and the mean.
func curve(p *plot.Plot, rs []result) error {
	n := math.MaxInt
	for _, r := range rs {
		n = min(n, len(r.Success))
	}
	if len(rs) == 0 || n == 0 {
		return nil
	}
	low, high, mean := make(plotter.XYs, n), make(plotter.XYs, n), make(plotter.XYs, n)
	for u := range n {
		var at []float64
		for _, r := range rs {
			at = append(at, r.Success[u])
		}
		m, _ := interval(at)
		x := float64(u + 1)
		low[u], high[n-1-u], mean[u] = plotter.XY{X: x, Y: slices.Min(at)}, plotter.XY{X: x, Y: slices.Max(at)}, plotter.XY{X: x, Y: m}
	}
	band, err := plotter.NewPolygon(append(low, high...))
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = color.RGBA{R: 31, G: 119, B: 180, A: 60}, 0
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.Color, line.Width = color.RGBA{R: 31, G: 119, B: 180, A: 255}, 1.5
	p.Add(band, line)
	return nil
}

// keep replaces what stands between the set's marks in the page.
func keep(name, table string) error {
	begin, end := "<!-- curves "+name+": made by `make results` -->", "<!-- end of curves "+name+" -->"
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for the table %q", page, name)
	}
	return os.WriteFile(page, []byte(head+begin+"\n"+table+end+tail), 0o644)
}
