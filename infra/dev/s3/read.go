package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/rclone/gofakes3"
)

// HeadObject describes an object.
func (b *backend) HeadObject(_ context.Context, bucket, key string) (*gofakes3.Object, error) {
	e, err := b.find(bucket, key)
	if err != nil {
		return nil, err
	}
	if !b.blobs.exists(e) {
		return nil, gofakes3.KeyNotFound(key)
	}
	return object(key, e, e.Size, io.NopCloser(bytes.NewReader(nil))), nil
}

// GetObject opens an object, or a range of it.
func (b *backend) GetObject(_ context.Context, bucket, key string, wanted *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	for tried := ""; ; {
		e, err := b.find(bucket, key)
		if err != nil {
			return nil, err
		}
		if e.Blob == "" {
			return ranged(object(key, e, e.Size, nil), bytes.NewReader(e.content), io.NopCloser(nil), wanted)
		}
		f, err := os.Open(b.blobs.path(e.Blob))
		switch {
		case err == nil:
			return whole(key, e, f, wanted)
		case !errors.Is(err, os.ErrNotExist):
			return nil, failed(err)
		case e.Blob == tried: // gone for good, not replaced in between
			return nil, gofakes3.KeyNotFound(key)
		}
		tried = e.Blob
	}
}

// whole serves a blob as long as it is. If something cut it, the client then sees by the checksum that it is
// damaged, instead of a connection that breaks off.
func whole(key string, e entry, f *os.File, wanted *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, failed(err)
	}
	return ranged(object(key, e, info.Size(), nil), f, f, wanted)
}

// ranged gives an object the part of its content that was asked for.
func ranged(o *gofakes3.Object, content io.ReaderAt, c io.Closer, wanted *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	r, err := wanted.Range(o.Size)
	if err != nil {
		c.Close()
		return nil, err
	}
	start, length := int64(0), o.Size
	if o.Range = r; r != nil {
		start, length = r.Start, r.Length
	}
	o.Contents = contents{io.NewSectionReader(content, start, length), c}
	return o, nil
}

type contents struct {
	io.Reader
	io.Closer
}

func object(key string, e entry, size int64, body io.ReadCloser) *gofakes3.Object {
	return &gofakes3.Object{Name: key, Metadata: e.Headers, Size: size, Hash: e.SHA256, Contents: body}
}
