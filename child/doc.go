// Package child starts processes that serve this one, such as the servers of an environment, and leaves none of them behind.
//
// Each has a process group of its own, and carries a label in its environment that whatever it starts inherits. Stop ends
// the group and everything with the label, wherever it went. When this process is killed itself, its lease ends with it (a file
// lock, which the kernel gives back): the next process of this user that sweeps finds lease and label, and ends
// what is left. Start with child.go; owner.go is the lease, proc.go reads /proc.
//
// Where there is no /proc (macOS), groups are ended just so, and processes that left their group are not found.
package child
