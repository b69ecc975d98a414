package code

// childrenOf lists the processes below one.
func childrenOf(pid int) []int {
	return family(pid)[1:]
}
