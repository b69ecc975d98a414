package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

var theShop = sync.OnceValues(func() (*world, error) { return read(context.Background(), "shop", Example()) })

func openShop(t *testing.T) *world {
	t.Helper()
	w, err := theShop()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheShopHas200Tasks(t *testing.T) {
	w := openShop(t)
	kinds := map[rl.Split]map[string]int{rl.Train: {}, rl.Eval: {}}
	for split, of := range kinds {
		for _, task := range w.tasks[split] {
			of[task.Kind]++
		}
	}
	want := map[string]int{}
	for _, kind := range []string{"status", "lookup", "cancel", "address", "refund", "refund_refused", "change_refused", "not_yours", "late", "several"} {
		want[kind] = 15
	}
	if !maps.Equal(kinds[rl.Train], want) {
		t.Errorf("to train on: %v", kinds[rl.Train])
	}
	for kind := range want {
		want[kind] = 5
	}
	if !maps.Equal(kinds[rl.Eval], want) {
		t.Errorf("to evaluate with: %v", kinds[rl.Eval])
	}
}

// everyTicket plays each of the 200 tasks, with what change makes of its reference, and gives the reward to check.
func everyTicket(t *testing.T, change func(*task) []call, check func(t *task, s rl.Score)) {
	w := openShop(t)
	e := &env{world: w}
	defer e.Close()
	for _, split := range []rl.Split{rl.Train, rl.Eval} {
		for _, task := range w.tasks[split] {
			if _, err := e.Reset(t.Context(), task.is("shop")); err != nil {
				t.Fatal(err)
			}
			for _, c := range change(task) {
				step(t, e, c.Tool, string(c.Arguments))
			}
			s, err := e.Score(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(task, s)
		}
	}
}

// What must not be done costs the reward, though all that was asked was done: a change more of the order that the ticket is
// about, or of another.
func TestChangesTooManyCostTheReward(t *testing.T) {
	for _, more := range []string{"cancel_order", "move_order", "give_voucher", "escalate_order"} {
		did := 0
		everyTicket(t, func(t *task) []call {
			i := slices.IndexFunc(t.Seed, func(r seedRow) bool { return r.table == "items" })
			arguments := map[string]any{"order": t.Seed[i].values[slices.Index(t.Seed[i].columns, "number")]}
			switch more {
			case "move_order":
				arguments["address"] = "1 Wrong Way, Nowhere"
			case "give_voucher":
				arguments["dollars"] = 5
			case "escalate_order":
				arguments["reason"] = "to be sure"
			}
			return append([]call{{more, rl.CanonicalJSON(arguments)}}, t.Reference...)
		}, func(task *task, s rl.Score) {
			if s.Value != 1 {
				did++
			} else if more != "cancel_order" { // which an order that has left the house refuses
				t.Errorf("line %d, %s too much: %+v", task.line, more, s)
			}
		})
		if did == 0 {
			t.Errorf("%s made no difference", more)
		}
	}
}

// What the agent writes is no change: an address in which another change stands does not make it.
func TestChangesAreNotForged(t *testing.T) {
	forged := 0
	everyTicket(t, func(task *task) []call {
		var moves, others []string // what the checks want, by the calls that do it
		var move map[string]string
		for _, c := range task.Reference {
			var a map[string]any
			if err := json.Unmarshal(c.Arguments, &a); err != nil {
				t.Fatal(err)
			}
			switch c.Tool {
			case "move_order":
				move = map[string]string{"order": a["order"].(string), "address": a["address"].(string)}
				moves = append(moves, c.Tool)
			case "swap_item":
				others = append(others, fmt.Sprintf("swap %s %s for %s", a["order"], a["product"], a["other"]))
			}
		}
		if len(moves) == 0 || len(others) == 0 {
			return nil
		}
		forged++
		move["address"] += "; " + strings.Join(others, "; ")
		return []call{{"move_order", rl.CanonicalJSON(move)}, task.Reference[len(task.Reference)-1]}
	}, func(task *task, s rl.Score) {
		if s.Value == 1 {
			t.Errorf("line %d: %+v", task.line, s)
		}
	})
	if forged != 4 {
		t.Errorf("%d tickets move an order and swap an item", forged)
	}
}

// No ticket is solved by an answer alone where something had to be done, nor by a guess at how it ends.
func TestGuessesEarnLittle(t *testing.T) {
	for _, guess := range []string{
		`{"outcome":"done"}`, `{"outcome":"refused"}`, `{"outcome":"refused","answer":"too_late"}`, `{"outcome":"done","answer":"shipped"}`, `{"outcome":"escalated"}`,
		`{"outcome":"refused","answer":"too_late, not_yours, final_sale, not_delivered"}`,
	} {
		earned := 0.
		everyTicket(t, func(*task) []call { return []call{{"close_ticket", []byte(guess)}} }, func(_ *task, s rl.Score) { earned += s.Value })
		if earned > 20 { // of 200: the tickets of one rule
			t.Errorf("%s earns %g", guess, earned)
		}
	}
}

// The rules that decide a ticket are those that the agent is told, and none more.
func TestRefusalsAreRules(t *testing.T) {
	w := openShop(t)
	for _, split := range []rl.Split{rl.Train, rl.Eval} {
		for _, task := range w.tasks[split] {
			last := string(task.Reference[len(task.Reference)-1].Arguments)
			if i := strings.Index(last, `"answer":"`); i >= 0 && (strings.Contains(last, "refused") || strings.Contains(last, "partly")) {
				code, _, _ := strings.Cut(last[i+10:], `"`)
				if !strings.Contains(w.spec.System, code+":") && !strings.Contains(w.spec.System, code+",") {
					t.Errorf("line %d: nothing is said of %s", task.line, code)
				}
			}
		}
	}
}

// A demonstration shows other numbers each time, and none that an evaluation has.
func TestDemonstrationsVary(t *testing.T) {
	w := openShop(t)
	held := map[string]bool{}
	for _, task := range w.tasks[rl.Eval] {
		for _, f := range task.Facts {
			held[f] = true
		}
	}
	seen := map[string]bool{}
	for seed := range uint64(300) {
		d, err := w.demonstrate(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		var asked struct{ Order string }
		if err := json.Unmarshal(d.Messages[2].ToolCalls[0].Arguments, &asked); err != nil {
			t.Fatal(err)
		}
		number := asked.Order
		if held["order "+number] || !strings.Contains(d.Messages[1].Content, number) || !strings.HasPrefix(d.Messages[3].Content, number+" of ") {
			t.Fatalf("seed %d: %+v", seed, d.Messages)
		}
		if last := d.Messages[len(d.Messages)-1]; last.ToolCalls[0].Name != "close_ticket" {
			t.Fatalf("seed %d ends with %+v", seed, last)
		}
		seen[number] = true
	}
	if len(seen) < 250 {
		t.Errorf("%d numbers in 300 demonstrations", len(seen))
	}
}

// The directory that docs/environments.md tells people to copy is the world in the binary.
func TestTheShopIsAnExample(t *testing.T) {
	a, err := envs.Open(t.Context(), rl.EnvConfig{Use: "sqlite", SQLite: rl.SQLiteConfig{Dir: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := envs.Open(t.Context(), rl.EnvConfig{Use: "shop"})
	if err != nil || a.Digest != b.Digest || fmt.Sprint(a.New().Spec()) != fmt.Sprint(b.New().Spec()) {
		t.Errorf("%s, %s, %v", a.Digest, b.Digest, err)
	}
}
