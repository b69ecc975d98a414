package envs

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// The numbers of the desk. Warm-up orders have one box, a desk that is never busy, and are never fragile.
const (
	ordersMaxBoxes = 3   // boxes of an order: 1 to this, alike
	ordersBusy     = .15 // share of calls that are answered "busy"
	ordersFragile  = .6  // share of fragile orders
	ordersHeldOut  = 5   // one in so many facts is kept for evaluation
)

// ordersPlaces is every shelf of every city.
var ordersPlaces = func() (places []string) {
	for _, city := range []string{"Oslo", "Rome", "Lima", "Bonn", "Cork", "Pune", "Kyiv", "Doha"} {
		for shelf := range 10 {
			places = append(places, fmt.Sprintf("%s %d", city, shelf))
		}
	}
	return places
}()

// order is what a task is about. All of it follows from the task's split and index.
type order struct {
	number  string   // two digits
	boxes   []string // from the order outwards, all different
	place   string   // where the last box stands
	fragile bool
	calm    bool   // the desk is never busy
	seed    uint64 // of what happens in the episode
}

func ordersSplit(s rl.Split) bool { return s == rl.Train || s == rl.Eval || s == rl.WarmUp }

func ordersTask(split rl.Split, index int) rl.Task { return orderOf(split, index).task(split, index) }

// task labels the order by what makes it hard: fragile, else chain (more boxes than one), else one_hop.
func (o order) task(split rl.Split, index int) rl.Task {
	t := rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: "orders", Split: split, Index: index, Kind: "one_hop"}
	switch {
	case o.fragile:
		t.Kind = "fragile"
	case len(o.boxes) > 1:
		t.Kind = "chain"
	}
	return t
}

// orderOf draws the order of a task. Each of its facts is held out or not, and that is decided for the pair by
// itself (heldOut); an eval task is drawn from held-out pairs only, all others from the rest. So no task of one side
// shares a fact with any of the other side, whatever the index ranges.
func orderOf(split rl.Split, index int) order {
	seed := rl.Seed(0, "orders", split, index)
	rng := rand.New(rand.NewPCG(seed, 0))
	o := order{seed: seed}
	boxes := 1 + rng.IntN(ordersMaxBoxes)
	o.fragile = rng.Float64() < ordersFragile
	if split == rl.WarmUp {
		boxes, o.fragile, o.calm = 1, false, true
	}
	for !o.draw(rng, boxes, split == rl.Eval) {
	}
	return o
}

// draw tries to fill in an order from facts of one side. It fails when no place seems to fit both the order and its
// last box.
func (o *order) draw(rng *rand.Rand, boxes int, held bool) bool {
	o.number = fmt.Sprintf("%02d", rng.IntN(100))
	o.boxes = o.boxes[:0]
	for at := o.number; len(o.boxes) < boxes; {
		box := randomBox(rng)
		if !slices.Contains(o.boxes, box) && heldOut(at, box) == held {
			o.boxes, at = append(o.boxes, box), box
		}
	}
	for range 2 * len(ordersPlaces) { // more draws would not find a place either
		o.place = ordersPlaces[rng.IntN(len(ordersPlaces))]
		if heldOut(o.number, o.place) == held && heldOut(o.boxes[boxes-1], o.place) == held {
			return true
		}
	}
	return false
}

func randomBox(rng *rand.Rand) string { return fmt.Sprintf("%c%d", 'A'+rng.IntN(26), rng.IntN(10)) }

// heldOut says whether the fact that a is in or at b is kept for evaluation. It is a hash, so there is no pattern in
// the held-out pairs that a policy could learn from those it sees.
func heldOut(a, b string) bool {
	h := fnv.New64a()
	io.WriteString(h, a)
	io.WriteString(h, " > ")
	io.WriteString(h, b)
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd // MurmurHash3's finish: FNV alone leaves the last letters in a pattern
	return x>>33%ordersHeldOut == 0
}

// facts are the pairs that make up the order.
func (o order) facts() []string {
	facts := []string{o.number + " > " + o.place, o.number + " > " + o.boxes[0]}
	for i, box := range o.boxes[1:] {
		facts = append(facts, o.boxes[i]+" > "+box)
	}
	return append(facts, o.boxes[len(o.boxes)-1]+" > "+o.place)
}

// busy says whether the desk has no time for a call, the first being number 1.
func (o order) busy(call int) bool {
	return !o.calm && float64(rl.Seed(o.seed, "busy", call))/(1<<53) < ordersBusy
}
