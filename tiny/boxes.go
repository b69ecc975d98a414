package tiny

import (
	"bytes"
	"encoding/json"
	"sync"
)

// boxes remembers the toolboxes of tools by their JSON: an episode sends the same ones every turn.
type boxes struct {
	mu    sync.Mutex
	known []knownBox // oldest first
}

type knownBox struct {
	tools json.RawMessage
	box   toolbox
}

const keptBoxes = 16

func (b *boxes) get(tools json.RawMessage) (toolbox, error) {
	b.mu.Lock()
	for _, k := range b.known {
		if bytes.Equal(k.tools, tools) {
			b.mu.Unlock()
			return k.box, nil
		}
	}
	b.mu.Unlock()
	box, err := readWireTools(tools)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) == keptBoxes {
		b.known = append(b.known[:0], b.known[1:]...)
	}
	b.known = append(b.known, knownBox{tools, box})
	return box, nil
}
