package nn

import "fmt"

// How the losses of a step's trained tokens become its loss. Rows without a trained token are not counted, and a
// step without any has loss 0.
const (
	// TokenMean divides their sum by their number: a long row weighs by its tokens (TRL's bnpo, verl's token-mean).
	TokenMean = "token_mean"
	// SequenceMean is the mean over rows of each row's token mean: rows weigh alike (TRL's grpo, verl's
	// seq-mean-token-mean; Z. Shao and others, DeepSeekMath, 2024, arXiv:2402.03300).
	SequenceMean = "sequence_mean"
	// Constant divides their sum by rows x Loss.Length, so that a token's weight depends on no row's length: Z. Liu
	// and others, Understanding R1-Zero-Like Training, 2025, arXiv:2503.20783 (Dr. GRPO).
	Constant = "constant"
	// GlobalTokenMean divides their sum by Loss.Tokens: the tokens of the whole update, shared out over its steps.
	// A token then weighs the same whichever step it is in (DAPO as TRL has it).
	GlobalTokenMean = "global_token_mean"
)

// Reductions are the names that Loss.Reduction may have.
func Reductions() []string { return []string{Constant, GlobalTokenMean, SequenceMean, TokenMean} }

func (l Loss) checkReduction() error {
	switch l.Reduction {
	case "", TokenMean, SequenceMean:
		return nil
	case Constant:
		if l.Length < 1 {
			return fmt.Errorf("length %d under reduction %s: want 1 or more", l.Length, Constant)
		}
		return nil
	case GlobalTokenMean:
		if !(l.Tokens > 0) {
			return fmt.Errorf("%v tokens a step under reduction %s: want more than 0", l.Tokens, GlobalTokenMean)
		}
		return nil
	}
	return fmt.Errorf("reduction %q is unknown: want one of %v", l.Reduction, Reductions())
}

// size is what a step's batch counts: its trained tokens, and the rows that have any.
type size struct{ rows, tokens int }

// Divisor is what the summed loss of a row with n trained tokens is divided by in a step of so many rows and tokens, for a
// trainer elsewhere that sums up in its own way.
func (l Loss) Divisor(rows, tokens, n int) float64 { return l.divisor(size{rows, tokens}, n) }

// divisor is what the loss of a row with n trained tokens is divided by before it is added to the others'.
func (l Loss) divisor(batch size, n int) float64 {
	switch l.Reduction {
	case SequenceMean:
		return float64(batch.rows * n)
	case Constant:
		return float64(batch.rows * l.Length)
	case GlobalTokenMean:
		return l.Tokens
	}
	return float64(batch.tokens)
}
