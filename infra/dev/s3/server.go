package s3

import (
	"net/http"
	"strconv"

	"github.com/rclone/gofakes3"

	"github.com/longhaul-rl/longhaul/rl"
)

// Options are the one pair of keys that the server accepts.
type Options struct {
	AccessKey string
	SecretKey string
}

// Server is an http.Handler that answers S3 requests signed with its keys, path style.
type Server struct {
	http    http.Handler
	backend *backend
}

// Open starts a server over dir, which it creates; one process at a time. Errors: Invalid without usable keys, Conflict
// when another process has dir open, Corrupt when the index cannot be read, Unavailable for anything else of the disk.
func Open(dir string, o Options) (*Server, error) {
	if len(o.AccessKey) < 3 || o.SecretKey == "" { // the front refuses shorter access keys
		return nil, rl.Errorf(rl.Invalid, "store "+dir, "the embedded S3 server needs an access key of 3 or more characters and a secret key")
	}
	b, err := openBackend(dir)
	if err != nil {
		return nil, err
	}
	h := gofakes3.New(front{b, multipart{}}, gofakes3.WithV4Auth(map[string]string{o.AccessKey: o.SecretKey}))
	return &Server{http: verifyBody(h.Server()), backend: b}, nil
}

// front is what gofakes3 is built on.
type front struct {
	*backend
	multipart
}

// ServeHTTP answers one request. It is safe for concurrent use.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A request that did not come through a socket carries its length in the field alone; the front reads the header.
	if r.ContentLength >= 0 && r.Header.Get("Content-Length") == "" {
		r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	s.http.ServeHTTP(w, r)
}

// Close ends the server once the writes in flight are decided; later requests are answered 500. Closing again does nothing.
func (s *Server) Close() error { return s.backend.close() }
