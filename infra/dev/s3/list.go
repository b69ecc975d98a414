package s3

import (
	"bytes"
	"context"
	"strings"

	"github.com/rclone/gofakes3"
	bolt "go.etcd.io/bbolt"
)

// ListBucket lists a page of keys in order. With a delimiter, the keys that share a prefix up to it are one entry,
// which like any key is listed when it sorts after the page's marker.
func (b *backend) ListBucket(_ context.Context, bucket string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	if prefix == nil {
		prefix = &gofakes3.Prefix{}
	}
	out := gofakes3.NewObjectList()
	err := b.db.View(func(tx *bolt.Tx) error {
		if in := bucketOf(tx, bucket); in != nil {
			list(in.Cursor(), *prefix, page, out)
		}
		return nil
	})
	return out, failed(err)
}

func list(c *bolt.Cursor, prefix gofakes3.Prefix, page gofakes3.ListBucketPage, out *gofakes3.ObjectList) {
	last := page.Marker
	for k, v := c.Seek([]byte(max(prefix.Prefix, last))); k != nil && bytes.HasPrefix(k, []byte(prefix.Prefix)); {
		name, common := grouped(string(k), prefix)
		if name > last || last == "" {
			if page.MaxKeys > 0 && int64(len(out.Contents)+len(out.CommonPrefixes)) == page.MaxKeys {
				out.IsTruncated, out.NextMarker = true, last
				return
			}
			if last = name; common {
				out.AddPrefix(name)
			} else {
				out.Add(content(name, v))
			}
		}
		if common {
			k, v = c.Seek([]byte(name + "\xff")) // past the group: keys are UTF-8, which has no such byte
		} else {
			k, v = c.Next()
		}
	}
}

// grouped is the name under which a key is listed: its own, or the prefix it shares up to the delimiter.
func grouped(key string, p gofakes3.Prefix) (name string, common bool) {
	if p.Delimiter == "" {
		return key, false
	}
	if i := strings.Index(key[len(p.Prefix):], p.Delimiter); i >= 0 {
		return key[:len(p.Prefix)+i+len(p.Delimiter)], true
	}
	return key, false
}

// content is a key's line in a listing. A damaged entry is listed as empty: reading it says that it is gone.
func content(key string, v []byte) *gofakes3.Content {
	e, _ := decodeEntry(v)
	return &gofakes3.Content{Key: key, LastModified: gofakes3.NewContentTime(e.Modified), ETag: `"` + etag(e) + `"`, Size: e.Size}
}
