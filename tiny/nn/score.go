package nn

import "fmt"

// Score computes the log-probabilities of the examples' trained tokens under softmax(logits / temperature), at 1 for
// demonstrations, on up to that many threads: per example a slice of the length of Tokens, 0 where there is no
// loss. Examples must fit the model as for Trainer.Update.
func (m *Model) Score(batch []*Example, temperature float64, threads int) ([][]float32, error) {
	return m.score(batch, temperature, m.tapes(min(threads, len(batch))))
}

// Score is Model.Score of the trainer's model, at its temperature.
func (t *Trainer) Score(batch []*Example) ([][]float32, error) {
	return t.Model.score(batch, t.Temperature, t.tapes)
}

func (m *Model) score(batch []*Example, temperature float64, tapes []*tape) ([][]float32, error) {
	if _, err := m.measure(batch); err != nil {
		return nil, err
	}
	out := make([][]float32, len(batch))
	parallel(tapes, len(batch), func(tape *tape, i int) {
		e := batch[i]
		at, temperature := e.trained(), temperature
		if e.SFT {
			temperature = 1
		}
		out[i] = make([]float32, len(e.Tokens))
		tape.forward(e.Tokens)
		for j, v := range tape.head(e, at, temperature, 0).New {
			out[i][at[j]] = float32(v)
		}
	})
	return out, nil
}

// tapes are as many as threads, at least one.
func (m *Model) tapes(threads int) (tapes []*tape) {
	for range max(1, threads) {
		tapes = append(tapes, newTape(m))
	}
	return tapes
}

// measure checks the examples and counts what is trained on in them.
func (m *Model) measure(batch []*Example) (s size, err error) {
	for i, e := range batch {
		if err := e.check(m.Config); err != nil {
			return s, fmt.Errorf("example %d: %w", i, err)
		}
		if n := len(e.trained()); n > 0 {
			s.rows++
			s.tokens += n
		}
	}
	return s, nil
}
