package mcp

import (
	"strings"
	"sync"
)

// tail is the last of what was written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

const tailSize = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	t.last = append([]byte{}, t.last[max(0, len(t.last)-tailSize):]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.last)), "\uFFFD")
}
