package s3

import (
	"context"
	"errors"
	"time"

	"github.com/rclone/gofakes3"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// BucketExists is true for every name: a bucket comes into being at its first write.
func (*backend) BucketExists(context.Context, string) (bool, error) { return true, nil }

// ListBuckets lists the buckets that something was written to. When that was is not recorded.
func (b *backend) ListBuckets(context.Context) (out []gofakes3.BucketInfo, err error) {
	err = b.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(root).ForEachBucket(func(name []byte) error {
			out = append(out, gofakes3.BucketInfo{Name: string(name), CreationDate: gofakes3.NewContentTime(time.Unix(0, 0).UTC())})
			return nil
		})
	})
	return out, failed(err)
}

// CreateBucket makes an empty bucket.
func (b *backend) CreateBucket(_ context.Context, name string) error {
	return failed(b.commits.do(func(tx *bolt.Tx) error {
		_, err := tx.Bucket(root).CreateBucket([]byte(name))
		if errors.Is(err, bolterrors.ErrBucketExists) {
			return gofakes3.ResourceError(gofakes3.ErrBucketAlreadyExists, name)
		}
		return err
	}))
}

// DeleteBucket removes a bucket that is empty.
func (b *backend) DeleteBucket(_ context.Context, name string) error {
	return failed(b.commits.do(func(tx *bolt.Tx) error {
		in := bucketOf(tx, name)
		if in == nil {
			return gofakes3.BucketNotFound(name)
		}
		if k, _ := in.Cursor().First(); k != nil {
			return gofakes3.ResourceError(gofakes3.ErrBucketNotEmpty, name)
		}
		return tx.Bucket(root).DeleteBucket([]byte(name))
	}))
}
