package reward

import (
	"cmp"
	"math"
	"slices"
)

// TauB is Kendall's rank correlation of two scores of the same members, from -1 (reversed) to 1 (the same order), with the
// correction for ties of M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945), 239-251:
//
//	tau_b = (C - D) / sqrt((n0 - n1) (n0 - n2))
//
// over the n0 = n(n-1)/2 pairs: C in the same order under both, D in opposite orders, n1 tied in x, n2 tied in y. ok is false,
// and there is no tau_b, where all of x or all of y are alike. x and y have one length and hold no NaN.
func TauB(x, y []float64) (tau float64, ok bool) {
	balance, inX, inY := 0, 0, 0
	for i := range x {
		for k := range i {
			a, b := cmp.Compare(x[i], x[k]), cmp.Compare(y[i], y[k])
			balance, inX, inY = balance+a*b, inX+a*a, inY+b*b
		}
	}
	if inX == 0 || inY == 0 {
		return 0, false
	}
	return float64(balance) / math.Sqrt(float64(inX)*float64(inY)), true
}

// Ordered counts, among the pairs of members with different outcomes, those that scores put in the order of the outcomes; a
// tie counts half. Of a judge that knows nothing it is half of the pairs.
func Ordered(scores, outcomes []float64) (right float64, pairs int) {
	for i := range scores {
		for k := range i {
			truth := cmp.Compare(outcomes[i], outcomes[k])
			if truth == 0 {
				continue
			}
			pairs++
			right += float64(1+truth*cmp.Compare(scores[i], scores[k])) / 2
		}
	}
	return right, pairs
}

// Ties counts the pairs of members that have the same score.
func Ties(scores []float64) (ties, pairs int) {
	for i := range scores {
		for k := range i {
			pairs++
			if scores[i] == scores[k] {
				ties++
			}
		}
	}
	return ties, pairs
}

// AUC is the area under the receiver operating characteristic: the probability that a success scores above a failure, a tie
// counting half (Hanley and McNeil, Radiology 143 (1982), 29-36). With the mean ranks R of the successes, p of n members,
//
//	AUC = (sum R - p (p+1)/2) / (p (n-p))
//
// ok is false where all are successes, or none.
func AUC(scores []float64, success []bool) (auc float64, ok bool) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	ranks, p := 0.0, 0 // ranks of the successes, from 1
	for first := 0; first < len(order); {
		next, own := first, 0
		for ; next < len(order) && scores[order[next]] == scores[order[first]]; next++ {
			if success[order[next]] {
				own++
			}
		}
		ranks += float64(own) * float64(first+next+1) / 2
		p, first = p+own, next
	}
	if p == 0 || p == len(order) {
		return 0, false
	}
	return (ranks - float64(p)*float64(p+1)/2) / (float64(p) * float64(len(order)-p)), true
}
