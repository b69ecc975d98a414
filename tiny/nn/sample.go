package nn

import (
	"slices"

	"github.com/longhaul-rl/longhaul/tiny/kern"
)

// LogProb is the natural logarithm of the probability of token tok under softmax(logits). It equals the
// trainer's, bit for bit.
func LogProb(logits []float32, tok int32) float32 { return LogProbAt(logits, tok, 1) }

// LogProbAt is LogProb under softmax(logits / temperature); temperature 0 means greedy choice, whose
// log-probability is that of temperature 1.
func LogProbAt(logits []float32, tok int32, temperature float64) float32 {
	d := distribute(nil, logits, temperature)
	return d.logProb(logits[tok])
}

// Draw chooses a token from softmax(logits / temperature) by a uniform number u in [0, 1), the first one at
// which the running sum of probabilities passes u; at temperature 0 it takes the most likely one, the first of
// equals. It returns the token and its LogProbAt. scratch grows to the length of logits.
func Draw(logits []float32, temperature, u float64, scratch *[]float32) (int32, float32) {
	p := grow(scratch, len(logits))
	d := distribute(p, logits, temperature)
	choice := -1
	if temperature != 0 {
		left := float64(u * float64(d.sum))
		for i, v := range p {
			if left -= float64(v); left < 0 {
				choice = i
				break
			}
		}
	}
	if choice < 0 {
		choice = max(0, slices.Index(logits, kern.Max(logits)))
	}
	return int32(choice), d.logProb(logits[choice])
}

// distribution is softmax(logits / temperature) up to its divisor: z = logit*scale - shift, p = e^z / sum.
type distribution struct {
	scale, shift float32
	sum          float32 // of all e^z
	logSum       float64
}

// distribute measures the distribution, and writes every e^z to p when p is not nil.
func distribute(p, logits []float32, temperature float64) distribution {
	d := distribution{scale: 1}
	if temperature != 0 {
		d.scale = float32(1 / temperature)
	}
	d.shift = float32(kern.Max(logits) * d.scale)
	var buf [256]float32
	for at := 0; at < len(logits); at += len(buf) {
		part := logits[at:min(at+len(buf), len(logits))]
		out := buf[:len(part)]
		if p != nil {
			out = p[at : at+len(part)]
		}
		d.sum += kern.Exp(out, part, d.scale, d.shift)
	}
	d.logSum = log64(float64(d.sum))
	return d
}

// logProb is z - log(sum) of one logit; rounding does not lift it over 0.
func (d distribution) logProb(logit float32) float32 {
	z := float64(float64(logit)*float64(d.scale)) - float64(d.shift)
	return float32(min(z-d.logSum, 0))
}

// spread turns the logits into their share of the derivative of c/scale*logProb(target) - bonus*entropy: all but the
// c that the target's logit has on top. h is the entropy, p the e^z that distribute wrote.
// d entropy / d logit_j = -scale * p_j * (log p_j + entropy).
func (d distribution) spread(logits, p []float32, h float64, c float32, bonus float64) {
	k := float64(bonus * float64(d.scale))
	for j, e := range p {
		z := float64(float64(logits[j])*float64(d.scale)) - float64(d.shift)
		logits[j] = float32(float64(e) / float64(d.sum) * (float64(k*(z-d.logSum+h)) - float64(c)))
	}
}

// entropy is -sum p log p in nats, from the logits and the e^z that distribute wrote.
func (d distribution) entropy(p, logits []float32) float64 {
	var sum float64
	for i, v := range p {
		z := float64(float64(logits[i])*float64(d.scale)) - float64(d.shift)
		sum += float64(float64(v) * z)
	}
	return d.logSum - sum/float64(d.sum)
}
