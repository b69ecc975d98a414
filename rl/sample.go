package rl

import (
	"math"
	"slices"
)

// Samples turns a trajectory into training rows. Nothing is encoded again: the token ids are the served ones.
//
// A turn whose prompt begins with the whole sequence of the turn before goes on in the same row. Where the history
// was changed (Action.Kept is less than that sequence), or the turn goes on from another one (Parent), a new row begins: its
// prompt is context only, so every sampled token is trained on exactly once, in the row in which it was sampled, and in the
// order of the turns from row to row. More than one row means segment breaks; nothing is dropped at them.
//
// In a row, LossMask is true at sampled tokens; LogProbs is NaN elsewhere; Advantages are all 0, for package
// advantage to fill in.
//
// When the trajectory cannot be trained on, samples is nil and why says so: NoAction when no turn was taken,
// NoLogProbs when any action lacks token ids or log-probabilities, StoreFailed when the record contradicts itself
// (Kept is longer than the sequence it refers to, or From is no turn before).
func (t Trajectory) Samples() (samples []Sample, why LeftOut) {
	if len(t.Turns) == 0 {
		return nil, NoAction
	}
	ends := t.forks()
	var sequence []int32 // what the turn ended with that this one goes on from
	for i, turn := range t.Turns {
		a, from := turn.Action, Parent(t.Turns, i)
		switch {
		case from < -1 || from >= i:
			return nil, StoreFailed
		case from < i-1:
			sequence = ends[from]
		}
		if len(a.Tokens) == 0 || len(a.LogProbs) != len(a.Tokens) {
			return nil, NoLogProbs
		}
		if a.Kept < 0 || a.Kept > len(sequence) {
			return nil, StoreFailed
		}
		if i == 0 || from < i-1 || a.Kept < len(sequence) {
			samples = append(samples, Sample{Episode: t.Episode})
			samples[len(samples)-1].context(sequence[:a.Kept])
		}
		row := &samples[len(samples)-1]
		row.context(a.Prompt)
		row.action(a)
		sequence = Sequence(sequence, a)
		if _, fork := ends[i]; fork {
			ends[i] = sequence
		}
	}
	return samples, ""
}

// forks has the turns that others than the next one go on from: what they ended with is to be kept.
func (t Trajectory) forks() map[int][]int32 {
	forks := map[int][]int32{}
	for _, turn := range t.Turns {
		if turn.From != nil {
			forks[*turn.From] = nil
		}
	}
	return forks
}

// context appends tokens that the policy saw.
func (s *Sample) context(tokens []int32) {
	s.Tokens = append(s.Tokens, tokens...)
	s.LossMask = append(s.LossMask, make([]bool, len(tokens))...)
	s.LogProbs = append(s.LogProbs, slices.Repeat([]float32{float32(math.NaN())}, len(tokens))...)
	s.Advantages = append(s.Advantages, make([]float32, len(tokens))...)
}

// action appends tokens that the policy sampled.
func (s *Sample) action(a Action) {
	s.Tokens = append(s.Tokens, a.Tokens...)
	s.LossMask = append(s.LossMask, slices.Repeat([]bool{true}, len(a.Tokens))...)
	s.LogProbs = append(s.LogProbs, a.LogProbs...)
	s.Advantages = append(s.Advantages, make([]float32, len(a.Tokens))...)
}

// TurnAdvantages reads, from the trajectory's own rows (Samples), the advantage of each turn; nil where the rows are of another
// trajectory.
func (t Trajectory) TurnAdvantages(rows []Sample) (turns []float64) {
	left := 0
	for _, row := range rows {
		for i, sampled := range row.LossMask {
			if !sampled {
				continue
			}
			if left == 0 {
				if len(turns) == len(t.Turns) {
					return nil
				}
				left = len(t.Turns[len(turns)].Action.Tokens)
				turns = append(turns, float64(row.Advantages[i]))
			}
			left--
		}
	}
	if left != 0 || len(turns) != len(t.Turns) {
		return nil
	}
	return turns
}

// MeanAdvantage is the mean of the turns' advantages over the sampled tokens: what learning does to the trajectory on the whole.
// Where they are all alike it is that very number.
func (t Trajectory) MeanAdvantage(turns []float64) float64 {
	if len(turns) == 0 {
		return 0
	}
	if slices.Min(turns) == slices.Max(turns) {
		return turns[0]
	}
	sum := 0.0
	for i, a := range turns {
		sum += float64(a * float64(len(t.Turns[i].Action.Tokens)))
	}
	return sum / float64(t.ActionTokens())
}
