package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longhaul-rl/longhaul/rl"
)

// Check is something that must hold when an episode has ended: of the agent's answer, of a file in {dir}, or of what a tool then
// gives. Exactly one of Answer, File and Tool says of what, exactly one of the others what holds.
type Check struct {
	Answer    bool            `json:"answer,omitempty"`
	File      string          `json:"file,omitempty"` // path in {dir}
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // of the tool's call

	Is       string `json:"is,omitempty"`       // spaces at both ends aside
	Contains string `json:"contains,omitempty"` // as it is written
	Matches  string `json:"matches,omitempty"`  // a regular expression (RE2) finds something
	Absent   bool   `json:"absent,omitempty"`   // of a file: there is none
}

func (c Check) valid() error {
	of, holds := 0, 0
	for _, b := range []bool{c.Answer, c.File != "", c.Tool != ""} {
		if b {
			of++
		}
	}
	for _, b := range []bool{c.Is != "", c.Contains != "", c.Matches != "", c.Absent} {
		if b {
			holds++
		}
	}
	switch {
	case of != 1:
		return errors.New("it is of one of answer, file and tool")
	case holds != 1:
		return errors.New("it says one of is, contains, matches and absent")
	case c.Absent && c.File == "":
		return errors.New("only a file can be absent")
	case c.Arguments != nil && c.Tool == "":
		return errors.New("arguments are a tool's")
	case c.File != "" && !inside(c.File):
		return fmt.Errorf("the file %q does not lie in {dir}", c.File)
	}
	_, err := regexp.Compile(c.Matches)
	return err
}

func (c Check) of() string {
	switch {
	case c.Answer:
		return "the answer"
	case c.File != "":
		return "the file " + c.File
	}
	return "what " + c.Tool + " gives"
}

// holds reports whether a text is as the check says.
func (c Check) holds(text string) bool {
	switch {
	case c.Is != "":
		return strings.TrimSpace(text) == strings.TrimSpace(c.Is)
	case c.Contains != "":
		return strings.Contains(text, c.Contains)
	case c.Matches != "":
		return regexp.MustCompile(c.Matches).MatchString(text) // valid
	}
	return false // of a file that should be absent
}

// score holds the end of an episode against its task's checks.
func (e *env) score(ctx context.Context) (rl.Score, error) {
	if len(e.task.Checks) == 0 {
		return rl.Score{Unscored: "the task has no checks: a judge is to score it"}, nil
	}
	passed, failed := 0, []string{}
	for _, c := range e.task.Checks {
		ok, err := e.check(ctx, c)
		if err != nil {
			return rl.Score{}, err
		}
		if ok {
			passed++
		} else {
			failed = append(failed, c.of())
		}
	}
	s := rl.Score{Reason: "every check holds", Metrics: map[string]float64{"checks_fraction": float64(passed) / float64(len(e.task.Checks))}}
	if len(failed) > 0 {
		s.Reason = "not as it should be: " + strings.Join(failed, ", ")
	} else {
		s.Value = 1
	}
	return s, nil
}

func (e *env) check(ctx context.Context, c Check) (bool, error) {
	switch {
	case c.Answer:
		return c.holds(e.answer), nil
	case c.File != "":
		b, err := e.server.read(c.File)
		if errors.Is(err, os.ErrNotExist) {
			return c.Absent, nil
		}
		for _, ours := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
			if errors.Is(err, ours) {
				return false, rl.Errorf(rl.Unavailable, at, "the check of %s: %w", c.File, err)
			}
		}
		return err == nil && c.holds(shown(string(b), e.server.dir)), nil // a directory, or a link to nowhere, is not what was asked for
	}
	r, refused, err := e.server.ask(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: e.world.arguments(c.Arguments, e.server.dir)})
	switch {
	case err != nil:
		return false, err
	case refused != "": // we called, not the agent
		return false, rl.Errorf(rl.Unavailable, at, "the check by %s: %s", c.Tool, e.world.hide.Replace(refused))
	}
	return c.holds(e.world.render(r, e.server.dir)), nil
}
