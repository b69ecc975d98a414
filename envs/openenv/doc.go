// Package openenv makes a world of servers of OpenEnv (`env: {use: openenv}`), which run an episode in a session on a
// WebSocket, /ws. An action is the arguments of one tool, whose schema is the server's.
//
// A session is its socket: when that is lost the server forgets the world, and a new one begins at the start. So there are
// no snapshots. An episode that was interrupted is reset on a session of its own with the task's seed and gets its actions
// again; the rollout loop compares what the server says, and voids the episode where that differs. A lost socket, a server
// that is away, full or slow, and a reply that is none are errors; none of them is a reward.
//
// world.go opens a world, env.go plays an episode, session.go is the socket, wire.go what goes over it.
package openenv
