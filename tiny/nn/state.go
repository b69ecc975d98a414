package nn

import (
	"fmt"

	"github.com/longhaul-rl/longhaul/safetensors"
)

// The names of an optimiser's state, as PyTorch's AdamW calls them.
const (
	meanPrefix   = "exp_avg."
	squarePrefix = "exp_avg_sq."
	stepsName    = "step"
)

// State gives what the optimiser remembers: both moments, per weight and in the layout of Model.Tensors under
// exp_avg.* and exp_avg_sq.*, and the number of steps as `step`, I64. Learning rate and the like are the
// caller's, not part of it.
func (t *Trainer) State() []safetensors.Tensor {
	c := t.Model.Config
	all := append(c.pack(meanPrefix, t.mean), c.pack(squarePrefix, t.square)...)
	return append(all, safetensors.I64(stepsName, nil, []int64{int64(t.Steps)}))
}

// SetState makes the optimiser go on from what State gave, in any order. It fails, and changes nothing, when a
// tensor is missing, unknown, named twice or of the wrong shape or type.
func (t *Trainer) SetState(tensors []safetensors.Tensor) error {
	from, err := byName(tensors)
	if err != nil {
		return err
	}
	t0, ok := from[stepsName]
	if !ok {
		return fmt.Errorf("tensor %s is missing", stepsName)
	}
	steps, err := t0.Int64s()
	if err != nil {
		return err
	}
	if len(steps) != 1 || steps[0] < 0 || int64(int(steps[0])) != steps[0] {
		return fmt.Errorf("optimiser state: step is %v", steps)
	}
	delete(from, stepsName)
	mean, square := make([]float32, len(t.mean)), make([]float32, len(t.square))
	if err := t.Model.unpack(meanPrefix, mean, from); err != nil {
		return err
	}
	if err := t.Model.unpack(squarePrefix, square, from); err != nil {
		return err
	}
	if err := noneLeft(from); err != nil {
		return err
	}
	t.mean, t.square, t.Steps = mean, square, int(steps[0])
	return nil
}
