package code

// childrenOf lists the processes below one.
func childrenOf(pid int) []int {
	pids, _ := family(pid)
	return pids[1:]
}
