package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// alias is what the agent knows its directory by. The real one differs from attempt to attempt: it would make no episode the
// same twice, and a recorded call would reach for a directory that is gone.
const alias = "/episode"

// shown is a text of the server's as the agent sees it.
func shown(text, dir string) string {
	if dir == "" {
		return text
	}
	return strings.ReplaceAll(text, dir, alias)
}

// meant is the agent's JSON with the real directory in place of the alias, wherever that stands as a path.
func meant(arguments []byte, dir string) []byte {
	if dir == "" {
		return arguments
	}
	var out []byte
	for {
		i := bytes.Index(arguments, []byte(alias))
		if i < 0 {
			return append(out, arguments...)
		}
		end := i + len(alias)
		out = append(out, arguments[:i]...)
		before := len(out) > 0 && inPath(out[len(out)-1])
		after := end < len(arguments) && inName(arguments[end])
		if before || after {
			out = append(out, alias...)
		} else {
			out = append(out, dir...)
		}
		arguments = arguments[end:]
	}
}

func inName(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

func inPath(c byte) bool { return inName(c) || c == '.' || c == '/' }

// clean makes the directory what it is to be when an episode begins.
func (s *server) clean(files map[string]string) error {
	if s.dir == "" {
		return nil
	}
	s.spoilt.Store(true) // until it is done: whoever is cut off here leaves a directory of both episodes
	left, err := os.ReadDir(s.dir)
	for _, entry := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, entry.Name())))
	}
	if err == nil && s.of.files != "" {
		err = os.CopyFS(s.dir, os.DirFS(s.of.files))
	}
	for path, content := range files {
		path = filepath.Join(s.dir, path)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755))
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
	}
	if err != nil {
		return rl.Errorf(rl.Unavailable, at, "the directory of the episode: %w", err)
	}
	s.spoilt.Store(false)
	return nil
}

// read is a file of the agent's directory, which is never left, also not through a link. A directory is no file.
func (s *server) read(path string) ([]byte, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFrame {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", path, maxFrame)
	}
	return root.ReadFile(path)
}
