package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"time"

	"github.com/rclone/gofakes3"
	bolt "go.etcd.io/bbolt"
)

// PutObject stores the body, then makes it the object in one transaction, where the request's conditions are decided.
func (b *backend) PutObject(ctx context.Context, bucket, key string, headers map[string]string, body io.Reader, size int64) (gofakes3.PutObjectResult, error) {
	e, err := b.receive(body, size, headers)
	var value []byte
	if err == nil {
		value, err = e.encode()
	}
	var replaced entry
	if err == nil {
		err = b.commits.do(func(tx *bolt.Tx) error {
			var exists bool
			replaced, exists = entryIn(tx, bucket, key)
			exists = exists && b.blobs.exists(replaced)
			if err := gofakes3.CheckWriteConditions(ctx, exists, etag(replaced)); err != nil {
				return err
			}
			in, err := tx.Bucket(root).CreateBucketIfNotExists([]byte(bucket))
			if err != nil {
				return err
			}
			return in.Put([]byte(key), value)
		})
	}
	if err != nil {
		b.blobs.remove(e.Blob)
		return gofakes3.PutObjectResult{}, failed(err)
	}
	b.blobs.remove(replaced.Blob)
	return gofakes3.PutObjectResult{ETag: `"` + etag(e) + `"`}, nil
}

// etag names an object's content. It is no MD5, which S3 does not promise either.
func etag(e entry) string { return hex.EncodeToString(e.SHA256) }

// receive reads a body to its end, where the front checks it: into memory when it is small, else into a durable
// blob. size is -1 when it is not known.
func (b *backend) receive(body io.Reader, size int64, headers map[string]string) (e entry, err error) {
	e = entry{Headers: headers, Modified: time.Now().UTC()}
	// The front checks a sha256 that the client sent; only otherwise is the body hashed here.
	e.SHA256, _ = base64.StdEncoding.DecodeString(headers["X-Amz-Checksum-Sha256"])
	var sum hash.Hash
	if len(e.SHA256) == 0 {
		sum = sha256.New()
		body = io.TeeReader(body, sum)
	}
	if size >= 0 && size <= inline {
		e.Size = size
		e.content, err = gofakes3.ReadAll(body, size)
	} else {
		e.Blob, e.Size, err = b.blobs.write(body, size)
	}
	if sum != nil {
		e.SHA256 = sum.Sum(nil)
	}
	return e, err
}

// DeleteObject removes an object; one that does not exist is no error.
func (b *backend) DeleteObject(_ context.Context, bucket, key string) (gofakes3.ObjectDeleteResult, error) {
	return gofakes3.ObjectDeleteResult{}, b.delete(bucket, key)
}

// DeleteMulti removes up to a thousand objects in one transaction.
func (b *backend) DeleteMulti(_ context.Context, bucket string, keys ...string) (r gofakes3.MultiDeleteResult, err error) {
	if err := b.delete(bucket, keys...); err != nil {
		return r, err
	}
	for _, k := range keys {
		r.Deleted = append(r.Deleted, gofakes3.ObjectID{Key: k})
	}
	return r, nil
}

func (b *backend) delete(bucket string, keys ...string) error {
	var gone []string
	err := b.commits.do(func(tx *bolt.Tx) error {
		in := bucketOf(tx, bucket)
		if in == nil {
			return nil
		}
		for _, k := range keys {
			e, _ := entryIn(tx, bucket, k)
			if err := in.Delete([]byte(k)); err != nil {
				return err
			}
			gone = append(gone, e.Blob)
		}
		return nil
	})
	if err != nil {
		return failed(err)
	}
	for _, name := range gone {
		b.blobs.remove(name)
	}
	return nil
}

// CopyObject is refused: see the package comment.
func (*backend) CopyObject(context.Context, string, string, string, string, map[string]string) (gofakes3.CopyObjectResult, error) {
	return gofakes3.CopyObjectResult{}, gofakes3.ErrorMessage(gofakes3.ErrNotImplemented, "the embedded store does not copy objects")
}

// multipart refuses multipart uploads at their first request, so the front never gets to the others.
type multipart struct{ gofakes3.MultipartBackend }

func (multipart) CreateMultipartUpload(context.Context, string, string, map[string]string) (gofakes3.UploadID, error) {
	return "", gofakes3.ErrorMessage(gofakes3.ErrNotImplemented, "the embedded store takes no multipart uploads: send the object in one PUT")
}
