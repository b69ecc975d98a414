// Package tinker trains and samples with a service of the Tinker API, such as SkyRL: an engine that holds the weights,
// and is told over HTTP what to do with them.
//
// Nothing that it is told is deduplicated there. A step sent twice is made twice, gradients add up until the next step,
// and when an answer is lost nobody can ask whether the call was served. So an update is exact because of what this
// client does: after any such answer the model is given up, another one is made from the weights that the update starts
// from, and the whole batch is sent again (update.go). What counts in the end is a name under which weights were saved,
// and that name is handed out once.
//
// Start with update.go. client.go and future.go are the wire, model.go the calls, chat.go makes an OpenAI server of it
// that rollouts can play with. The API was read in SkyRL 0.3.0 (skyrl/tinker/api.py) and measured there.
package tinker
