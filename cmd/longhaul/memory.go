package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

// memoryLimit is where the garbage collector stops trading memory for time, in bytes: a quarter of the machine's memory
// where that is known, never less than what the demo is quick with.
func memoryLimit() int64 {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil { // not Linux
		return leastMemory
	}
	return max(leastMemory, totalMemory(info)/4)
}

const leastMemory = 768 << 20

var memTotal = regexp.MustCompile(`(?m)^MemTotal:\s+(\d+) kB$`)

// totalMemory reads /proc/meminfo: bytes, 0 when it does not say.
func totalMemory(info []byte) int64 {
	found := memTotal.FindSubmatch(info)
	if found == nil {
		return 0
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 53)
	if err != nil {
		return 0
	}
	return kib << 10
}

// residentMemory is what this process holds in memory now, in bytes; 0 where the system does not say.
func residentMemory() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil { // not Linux
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 53)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
