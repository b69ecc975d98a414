// Package tiny is the embedded policy around its network: tokens, chat template, files, and a chat server that
// answers OpenAI's chat completions. It runs everywhere and needs no GPU, so that a whole training run fits into
// one process; its model is as small as its worlds.
//
// The tokenizer (vocabulary.go, tokenizer.go) is bytes plus word pieces, and the template (template.go) renders
// tool calls compactly: the policy knows its tools from training, not from their schemas. checkpoint.go writes
// both beside the weights as a Hugging Face directory. The server (server.go) batches concurrent requests, keeps
// the key-value caches of conversations, and loads policy versions when they are first asked for.
//
// The same request gets the same answer, byte for byte, whatever was asked before or meanwhile, on any number of
// threads: a request's randomness comes from its seed alone, and neither cache nor batching changes a bit (see
// package nn). Next: nn for the model, policy for the client of such servers.
package tiny
