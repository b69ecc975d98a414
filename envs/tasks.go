package envs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// LineError is what is wrong with a line of a file of tasks.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error begins with the line's number.
func (e *LineError) Error() string { return fmt.Sprintf("%d: %v", e.Line, e.Err) }

// Unwrap is what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// ReadTasks reads a file of tasks, a JSON object a line, and gives each to take; empty lines do not count. A field that T does not
// have, a second value in a line and what take says is wrong are a *LineError.
func ReadTasks[T any](file []byte, take func(line int, task T) error) error {
	n := 0
	for line := range bytes.Lines(file) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		task, err := readTask[T](line)
		if err == nil {
			err = take(n, task)
		}
		if err != nil {
			return &LineError{Line: n, Err: err}
		}
	}
	return nil
}

func readTask[T any](line []byte) (task T, err error) {
	if !utf8.Valid(line) {
		return task, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&task); err != nil {
		return task, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return task, errors.New("more than one task in a line")
	}
	return task, nil
}
