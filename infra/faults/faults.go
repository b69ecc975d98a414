// Package faults breaks things on purpose: requests that are refused, lost, slowed down, cut off or answered with
// nonsense, and processes that are killed at a request. It stands between a client and a server of HTTP (the store, a
// policy, a judge), as either side's part, and is made for tests that read like a script:
//
//	store := faults.Of(
//		faults.On("PUT", "/journal/", faults.Share(.3, 1), faults.Status(500)),
//		faults.On("PUT", "", faults.Share(.05, 2), faults.Lost))
//	transport = store.Transport(transport)
//
// Parse reads the same from text, for a process that a test starts. Nothing that is shipped imports this package.
package faults

import (
	"net/http"
	"regexp"
	"sync"
)

// Fault is what becomes of a request. send passes it on, and may be called or not.
type Fault func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// When says whether the n-th request that a rule fits (from 1) is hit.
type When func(n int) bool

// Rule is one kind of fault. The first rule of a plan that hits a request decides.
type Rule struct {
	method string // empty: any
	path   *regexp.Regexp
	when   When
	do     Fault
}

// On makes a rule for requests of a method ("" for any) whose path, with its query, matches a regular expression. It
// panics where path is none.
func On(method, path string, when When, do Fault) Rule {
	return Rule{method, regexp.MustCompile(path), when, do}
}

// Plan is a set of rules and what they have met so far. It is safe for concurrent use.
type Plan struct {
	rules []Rule
	mu    sync.Mutex
	fits  []int
	hits  []int
}

// Of makes a plan.
func Of(rules ...Rule) *Plan {
	return &Plan{rules: rules, fits: make([]int, len(rules)), hits: make([]int, len(rules))}
}

// Hits is how often each rule has struck.
func (p *Plan) Hits() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int(nil), p.hits...)
}

// fault is what strikes a request, nil for nothing.
func (p *Plan) fault(r *http.Request) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, rule := range p.rules {
		if rule.method != "" && rule.method != r.Method || !rule.path.MatchString(r.URL.RequestURI()) {
			continue
		}
		if p.fits[i]++; rule.when(p.fits[i]) {
			p.hits[i]++
			return rule.do
		}
	}
	return nil
}
