package faults

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Parse reads a plan of lines "METHOD PATH WHEN FAULT": PUT /ckpt/ 2 kill-after. PATH is a regular expression, WHEN a
// number (that request), a share such as 30%, or *; FAULT is refuse, lost, hang, kill-before, kill-after, say, a status
// such as 500, or slow-50ms.
func Parse(text string) (*Plan, error) {
	var rules []Rule
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 4 {
			return nil, fmt.Errorf("faults: %q is not METHOD PATH WHEN FAULT", strings.TrimSpace(line))
		}
		path, err := regexp.Compile(f[1])
		if err != nil {
			return nil, fmt.Errorf("faults: %w", err)
		}
		when, err := parseWhen(f[2], uint64(len(rules)))
		if err != nil {
			return nil, err
		}
		do, err := parseFault(f[3])
		if err != nil {
			return nil, err
		}
		rules = append(rules, Rule{f[0], path, when, do})
	}
	return Of(rules...), nil
}

func parseWhen(s string, seed uint64) (When, error) {
	if s == "*" {
		return Always, nil
	}
	if share, ok := strings.CutSuffix(s, "%"); ok {
		if p, err := strconv.ParseFloat(share, 64); err == nil {
			return Share(p/100, seed), nil
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("faults: %q is not a number from 1, a share such as 30%% or *", s)
	}
	return Nth(n), nil
}

func parseFault(s string) (Fault, error) {
	if f, ok := map[string]Fault{"refuse": Refuse, "lost": Lost, "hang": Hang, "kill-before": KillBefore, "kill-after": KillAfter}[s]; ok {
		return f, nil
	}
	if s == "say" {
		return Say(os.Stderr, started), nil
	}
	if code, err := strconv.Atoi(s); err == nil && code >= 400 && code < 600 {
		return Status(code), nil
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(s, "slow-")); err == nil && strings.HasPrefix(s, "slow-") {
		return Slow(d), nil
	}
	return nil, fmt.Errorf("faults: there is no fault %q", s)
}

// started is when this process began, about.
var started = time.Now()
