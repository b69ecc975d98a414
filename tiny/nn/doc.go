// Package nn is the embedded policy's network: a small Llama-style decoder (RMSNorm, rotary positions, SwiGLU,
// tied embedding), a sampler with key-value caches, and a trainer with a hand-written backward pass and AdamW.
//
// It exists so that a whole training run fits into one process without a GPU. It is exact where others are
// fast: the same examples give the same weights, bit for bit, on any number of threads and on every
// instruction set, and the log-probabilities that a Runner gives while it samples equal the trainer's bit for
// bit. That holds because package kern has one order of operations per element, because gradients are summed
// in a fixed number of lanes, because exp, log, sin and cos come from exact.go and not from the machine, and
// because no product is left for the compiler to fuse into a sum: every one that could be stands in an explicit
// conversion, float32(x*y)+z (fuse_test.go checks it).
//
// model.go is the shape of the weights, runner.go the sampler, loss.go the policy losses, trainer.go the
// optimiser step, tensors.go the Hugging Face names. Next: package tiny, which adds tokens and a chat server.
package nn
