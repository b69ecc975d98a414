// Package child starts processes that serve this one, such as the servers of an environment, and leaves none of them behind.
//
// Each has a process group of its own, and carries a label in its environment that whatever it starts inherits. Stop ends
// the group and everything with the label, wherever it went. When this process is killed itself, a guard in each group, a /bin/sh, ends
// that at once; what has left its group goes when the next process of this user begins to have children: it sweeps, since this
// one's lease (a file lock, which the kernel gives back) has ended. Start with child.go; group.go is the guard, owner.go the lease,
// proc.go reads /proc.
//
// Where there is no /proc (macOS), groups are ended just so, and processes that left their group are not found.
package child
