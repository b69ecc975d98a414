package main

import (
	"bytes"
	"os"
	"testing"
)

// The tasks in the repository are those that this program writes.
func TestTheTasksAreAsDrawn(t *testing.T) {
	products, err := readProducts("../../envs/sqlite/shop/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	if err := write(&drawn, products); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../envs/sqlite/shop/tasks.jsonl")
	if err != nil || !bytes.Equal(kept, drawn.Bytes()) {
		t.Errorf("envs/sqlite/shop/tasks.jsonl is not what is drawn (%v): go generate ./envs/sqlite", err)
	}
}
