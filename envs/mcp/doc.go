// Package mcp makes an environment of an MCP server: its tools are the agent's, a file has the tasks, and the reward is a judge's, or
// the tasks' own checks. Any server will do, over stdio or streamable HTTP, through the official SDK.
//
// mcp.go opens the world that a configuration describes, task.go reads its tasks, env.go plays an episode, check.go scores it.
// Below that are the servers: servers.go is what those of a configuration have in common, pool.go says which episode has which,
// start.go and shared.go when there is a new one, server.go is one of them with its session, stdio.go and http.go carry its messages.
//
// What the model did wrong, and what a tool answers to it, is an observation; a server that is lost, or does not answer in time, is an
// error: what it knew is gone, and the episode is done again with another one.
//
// Sessions are begun with MCP's initialize, not with the newer, stateless discovery, where a server knows both: a session
// is what gives an episode a state of its own.
package mcp
