package rl

import "maps"

// Spend is what a run has paid for its judge so far: runs/<run>/spend.json, changed by compare-and-swap.
type Spend struct {
	Schema string  `json:"schema"` // SpendSchema
	Calls  int     `json:"calls"`  // answered ones
	USD    float64 `json:"usd"`    // of these
	// Uncertain counts, and prices at their most, calls that were sent again because it is not known what became of them: a
	// server that does not keep answers by key may have been paid for them.
	Uncertain    int     `json:"uncertain,omitempty"`
	UncertainUSD float64 `json:"uncertain_usd,omitempty"`
	// Open are the calls under way, by key, with the most that each can cost.
	Open map[string]float64 `json:"open,omitempty"`
}

// SpendSchema is the version of the Spend JSON form.
const SpendSchema = "longhaul/spend/1"

// Most is the most that the run can have paid, calls under way included.
func (s Spend) Most() (calls int, usd float64) {
	calls, usd = s.Calls+s.Uncertain+len(s.Open), s.USD+s.UncertainUSD
	for _, most := range s.Open {
		usd += most
	}
	return calls, usd
}

// Reserve enters a call that is about to be made and can cost so much. The error is Exhausted, and nothing is entered, when the
// call could pass a limit; 0: no limit.
func (s Spend) Reserve(key string, most float64, maxCalls int, maxUSD float64) (Spend, error) {
	with := s
	if before, open := s.Open[key]; open {
		with.Uncertain, with.UncertainUSD = s.Uncertain+1, s.UncertainUSD+before
	}
	with.Schema, with.Open = SpendSchema, map[string]float64{}
	maps.Copy(with.Open, s.Open)
	with.Open[key] = most
	calls, usd := with.Most()
	switch {
	case maxUSD > 0 && usd > maxUSD:
		return s, Errorf(Exhausted, "reward.max_usd", "the next call could bring what the judge has cost to %.4f USD; the limit is %g, which `longhaul set` can raise", usd, maxUSD)
	case maxCalls > 0 && calls > maxCalls:
		return s, Errorf(Exhausted, "reward.max_calls", "the next call would be number %d; the limit is %d, which `longhaul set` can raise", calls, maxCalls)
	}
	return with, nil
}

// Settle enters what an open call came to. One that is not open has been settled already.
func (s Spend) Settle(key string, spent Spent) Spend {
	if _, open := s.Open[key]; !open {
		return s
	}
	s = s.Release(key)
	s.Calls, s.USD = s.Calls+spent.Calls, s.USD+spent.USD
	return s
}

// Release takes away an open call that was certainly not answered.
func (s Spend) Release(key string) Spend {
	s.Open = maps.Clone(s.Open)
	delete(s.Open, key)
	return s
}
