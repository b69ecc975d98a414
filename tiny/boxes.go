package tiny

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/longhaul-rl/longhaul/jsonscan"
)

// boxes remembers the toolboxes of tools by their JSON: an episode sends the same ones every turn.
type boxes struct {
	mu    sync.Mutex
	boxes []knownBox // oldest first
}

type knownBox struct {
	tools json.RawMessage
	text  string // tools, when they are an array; else empty
	box   toolbox
}

const keptBoxes = 16

func (b *boxes) get(tools json.RawMessage) (toolbox, error) {
	b.mu.Lock()
	for _, k := range b.boxes {
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
	known := knownBox{tools: tools, box: box}
	if len(tools) > 0 && tools[0] == '[' {
		known.text = string(tools)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.boxes) == keptBoxes {
		b.boxes = append(b.boxes[:0], b.boxes[1:]...)
	}
	b.boxes = append(b.boxes, known)
	return box, nil
}

// known reads tools that were read before, and are an array.
func (b *boxes) known(s *jsonscan.Scanner) json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := s.OneOf(len(b.boxes), func(i int) string { return b.boxes[i].text }); i >= 0 {
		return b.boxes[i].tools
	}
	return nil
}
