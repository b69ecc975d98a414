package s3

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"net/http"

	"github.com/rclone/gofakes3"
)

// verifyBody makes the body of a request fail on its last byte when it is not what x-amz-content-sha256 promises.
// The front checks the signature of that header, not the body behind it.
func verifyBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, err := hex.DecodeString(r.Header.Get("X-Amz-Content-Sha256"))
		// UNSIGNED-PAYLOAD and the streaming forms are not hex. A sha256 checksum is checked by the front already.
		promised := err == nil && len(want) == sha256.Size
		checked := r.Header.Get("X-Amz-Checksum-Sha256") == base64.StdEncoding.EncodeToString(want)
		if promised && !checked && r.ContentLength != 0 {
			r.Body = &verified{ReadCloser: r.Body, sum: sha256.New(), left: r.ContentLength, want: string(want)}
		}
		next.ServeHTTP(w, r)
	})
}

// verified is a body with a promised sha256. left is what is still to come, or negative when the length is unknown.
type verified struct {
	io.ReadCloser
	sum  hash.Hash
	left int64
	want string
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n])
	v.left -= int64(n)
	// The front stops reading at the promised length and may never ask for the end.
	if last := v.left == 0 && n > 0 || err == io.EOF; last && string(v.sum.Sum(nil)) != v.want {
		return n, gofakes3.ErrorMessage(gofakes3.ErrBadDigest, "the body does not match x-amz-content-sha256")
	}
	return n, err
}
