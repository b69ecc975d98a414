package activities

import (
	"slices"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The best of a group is paired with its worst, the second best with the second worst; equals, groups of one and members of
// several rows make no pair, whatever their lengths.
func TestPairsOf(t *testing.T) {
	sample := func(task rl.TaskID, member int, advantages ...float32) rl.Sample {
		s := rl.Sample{Episode: rl.EpisodeID{Run: "r", Update: 1, Task: task, Member: member}, LossMask: []bool{false}, Advantages: []float32{0}}
		for _, a := range advantages {
			s.LossMask, s.Advantages = append(s.LossMask, true), append(s.Advantages, a)
		}
		return s
	}
	samples := []rl.Sample{
		sample("a", 0, -1), sample("a", 1, 3, 1), sample("a", 2, 0), sample("a", 3, 1), sample("a", 4, -2),
		sample("b", 0, 1), sample("b", 1, 1),
		sample("c", 0, 1),
		sample("d", 0, 1), sample("d", 0, 1), sample("d", 1, -1), sample("d", 2, .5),
		sample("e", 0, slices.Repeat([]float32{.7}, 23)...), sample("e", 1, slices.Repeat([]float32{.7}, 37)...), sample("e", 2, slices.Repeat([]float32{.7}, 41)...),
	}
	rows := make([]*nn.Example, len(samples))
	at := map[*nn.Example]int{}
	for i := range rows {
		rows[i] = &nn.Example{}
		at[rows[i]] = i
	}
	var got [][2]int
	for _, p := range pairsOf(samples, rows) {
		got = append(got, [2]int{at[p.Chosen], at[p.Rejected]})
	}
	if len(got) != 3 || got[0] != [2]int{1, 4} || got[1] != [2]int{3, 0} || got[2] != [2]int{11, 10} {
		t.Errorf("pairs %v", got)
	}
}
