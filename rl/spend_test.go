package rl

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestSpend(t *testing.T) {
	var s Spend
	reserve := func(key string, most float64) error {
		next, err := s.Reserve(key, most, 4, 1)
		if err != nil && !reflect.DeepEqual(next, s) {
			t.Errorf("%s was refused, and entered: %+v", key, next)
		}
		s = next
		return err
	}
	is := func(what string, calls int, usd float64) {
		t.Helper()
		if c, u := s.Most(); c != calls || u != usd {
			t.Errorf("%s: %d calls, %v USD, want %d, %v", what, c, u, calls, usd)
		}
	}
	reserve("a", .5)
	is("one under way", 1, .5)
	if err := reserve("b", .625); KindOf(err) != Exhausted || err.Error() != "reward.max_usd: the next call could bring what the judge has cost to 1.1250 USD; the limit is 1, which `longhaul set` can raise" {
		t.Error(err)
	}
	if err := reserve("b", .5); err != nil {
		t.Errorf("up to the limit: %v", err)
	}
	s = s.Settle("a", Spent{Calls: 1, USD: .125})
	is("a is answered", 2, .625)
	s = s.Settle("a", Spent{Calls: 1, USD: .125})
	is("and settled once", 2, .625)
	s = s.Release("b")
	is("b was not served", 1, .125)
	reserve("c", .25)
	reserve("c", .25) // sent again: nobody knows whether it was paid
	is("c twice", 3, .625)
	s = s.Settle("c", Spent{Calls: 1, USD: .0625})
	if s.Uncertain != 1 || s.UncertainUSD != .25 || len(s.Open) != 0 {
		t.Errorf("%+v", s)
	}
	is("c is answered", 3, .4375)
	reserve("d", .125)
	if err := reserve("e", .125); KindOf(err) != Exhausted || err.Error() != "reward.max_calls: the next call would be number 5; the limit is 4, which `longhaul set` can raise" {
		t.Error(err)
	}
}

// Whatever is answered, lost, sent again or never served, and at whatever price up to the one that was reserved: the limits hold, also
// where each call that was sent is paid.
func TestSpendHoldsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const maxCalls, maxUSD = 12, 4.
		var s Spend
		most := map[string]float64{} // of the calls that were sent and not settled
		sent, paid := 0, 0.
		price := rapid.SampledFrom([]float64{0, .125, .5, 1})
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "call"))
			_, open := s.Open[key]
			switch rapid.SampledFrom([]string{"send", "answer", "refuse"}).Draw(t, "step") {
			case "send":
				limit := price.Draw(t, "most")
				next, err := s.Reserve(key, limit, maxCalls, maxUSD)
				if err != nil {
					continue
				}
				s, most[key] = next, limit
				sent, paid = sent+1, paid+limit
			case "answer":
				if !open {
					continue
				}
				usd := min(price.Draw(t, "usd"), most[key])
				s = s.Settle(key, Spent{Calls: 1, USD: usd})
				paid += usd - most[key]
			case "refuse":
				if !open {
					continue
				}
				s = s.Release(key)
				sent, paid = sent-1, paid-most[key]
			}
			if sent > maxCalls || paid > maxUSD {
				t.Fatalf("%d calls and %v USD with %+v", sent, paid, s)
			}
			if calls, usd := s.Most(); calls != sent || usd != paid {
				t.Fatalf("%d calls and %v USD were counted of %d and %v", calls, usd, sent, paid)
			}
		}
	})
}
