package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longhaul-rl/longhaul/rl"
)

// system is what the agent is told before the task.
func (s *Servers) system(about *mcp.InitializeResult, dir string) string {
	if s.config.System != "" {
		return s.config.System
	}
	say := "Do what the user asks, with the tools. When you are done, say what came of it in a message without a call; that ends the work."
	if dir != "" {
		say += " Your files are in the directory " + alias + "."
	}
	if about.Instructions != "" {
		say += "\n\n" + s.hide.Replace(shown(about.Instructions, dir))
	}
	return say
}

func (w *world) task(split rl.Split, index int) rl.Task {
	t := rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: name, Split: split, Index: index}
	if of := w.tasks[split]; index >= 0 && index < len(of) {
		t.Kind = of[index].Kind
	}
	return t
}

// of is what a task is about, nil when it is none of this world.
func (w *world) of(t rl.Task) *Task {
	if all := w.tasks[t.Split]; t.Index >= 0 && t.Index < len(all) && t == w.task(t.Split, t.Index) {
		return &all[t.Index]
	}
	return nil
}

const anyRubric = "An attempt is good when it does what the user asks, completely and with nothing else changed, and when its last message says truthfully what came of it."

func (w *world) rubric(t rl.Task) string {
	if own := w.of(t); own != nil && own.Rubric != "" {
		return own.Rubric
	}
	return anyRubric
}

// reference plays the task's solution. One without a solution has none.
func (w *world) reference(t rl.Task) func([]rl.Message) rl.Message {
	return func(messages []rl.Message) rl.Message {
		m, n := rl.Message{Role: rl.Assistant}, 0
		for _, before := range messages {
			if before.Role == rl.Assistant {
				n++
			}
		}
		own := w.of(t)
		if own == nil || n >= len(own.Solution) {
			return m
		}
		step := own.Solution[n]
		if step.Tool == "" {
			m.Content = step.Answer
			return m
		}
		arguments := step.Arguments
		if arguments == nil {
			arguments = json.RawMessage("{}")
		}
		m.ToolCalls = []rl.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: step.Tool, Arguments: arguments}}
		return m
	}
}
