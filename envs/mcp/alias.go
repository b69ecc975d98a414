package mcp

import (
	"bytes"
	"strings"
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
