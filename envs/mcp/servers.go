package mcp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Servers are those of a configuration: what they are started with, and the tools that the first of them had.
type Servers struct {
	Name string // how the server names itself, with its version; may be empty

	config  rl.MCPConfig
	memory  int64 // config.Memory in bytes; 0: no limit
	words   []string
	dirs    bool     // the command has {dir}
	environ []string // of the servers
	headers http.Header
	hide    *child.Hider // secrets, from what is recorded or logged
	network http.RoundTripper
	files   string // a copy of config.Files as it was at first: every episode begins with the same; empty: none
	began   []byte // SHA-256 of those

	spec       envs.Spec
	names      map[string]bool // of all tools of the server
	actions    []byte          // names and schemas of the tools
	validators map[string]*validator
	pool       *pool
}

// Open starts a server of a configuration, to hear of its tools. Errors: Invalid at a key of env.mcp; Refused at env.mcp.headers or
// env.mcp.url, when it turns requests away; Unavailable at "environment mcp" or where a secret is missing.
func Open(ctx context.Context, c rl.MCPConfig) (*Servers, error) {
	s := &Servers{config: c, network: http.DefaultTransport.(*http.Transport).Clone(), validators: map[string]*validator{}}
	if c.Memory != "" {
		s.memory = bytesOf(c.Memory)
	}
	if c.URL == "" {
		var err error
		if s.words, err = child.Words(c.Command); err != nil {
			return nil, rl.Errorf(rl.Invalid, "env.mcp.command", "%w", err)
		}
	}
	s.dirs = strings.Contains(c.Command, "{dir}")
	if err := s.secretsOf(c); err != nil {
		return nil, err
	}
	s.pool = newPool(s)
	err := s.keep(c.Files)
	if err == nil {
		err = s.ask(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the servers that no episode has, and those that one has once it is over.
func (s *Servers) Close() {
	s.pool.close()
	if s.files != "" {
		_ = os.RemoveAll(s.files) // what cannot be removed goes when this process has ended
	}
}

// Spec is that of the worlds of these servers.
func (s *Servers) Spec() envs.Spec { return s.spec }

// key is the key of the configuration that says which server it is.
func (s *Servers) key() string {
	if s.config.URL != "" {
		return "env.mcp.url"
	}
	return "env.mcp.command"
}

// called is what the server is called in an error.
func (s *Servers) called() string {
	if s.config.URL != "" {
		return s.key()
	}
	return s.words[0] + " (" + s.key() + ")"
}

// keep copies the files that episodes begin with. Error: Invalid at env.mcp.files.
func (s *Servers) keep(files string) (err error) {
	if files == "" {
		return nil
	}
	if s.files, err = child.Dir(); err != nil {
		return rl.Errorf(rl.Unavailable, at, "%w", err)
	}
	if err = os.CopyFS(s.files, os.DirFS(files)); err == nil {
		s.began, err = digest(s.files)
	}
	if err != nil {
		return rl.Errorf(rl.Invalid, "env.mcp.files", "%w", err)
	}
	return nil
}

// digest is what the files of a directory come to.
func digest(dir string) ([]byte, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%q %x\n", inside, sha256.Sum256(b))
		return err
	})
	return h.Sum(nil), err
}
