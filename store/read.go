package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/longhaul-rl/longhaul/rl"
)

// Get reads an object. Errors: NotFound; Corrupt when the bytes are not those that were written (where the
// endpoint keeps checksums); Refused (credentials, rights); Unavailable (no answer, overload, a full disk).
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	body, _, err := s.get(ctx, key)
	return body, err
}

// Find reads an object of which only the key is known, and returns its reference too. Errors as Get.
func (s *Store) Find(ctx context.Context, key string) (rl.Ref, []byte, error) {
	body, err := s.Get(ctx, key)
	if err != nil {
		return rl.Ref{}, nil, err
	}
	return RefOf(key, body), body, nil
}

// GetRef reads an object and checks that it is the one that was referred to: Corrupt when it is not. Else as Get.
func (s *Store) GetRef(ctx context.Context, ref rl.Ref) ([]byte, error) {
	body, _, err := s.get(ctx, ref.Key, unchecked) // the reference says what it must be
	if err != nil {
		return nil, err
	}
	if sum := SHA256(body); sum != ref.SHA256 {
		return nil, rl.Errorf(rl.Corrupt, at(ref.Key), "its sha256 is %.12s, not %.12s as was recorded", sum, ref.SHA256)
	}
	return body, nil
}

// unchecked skips the SDK's own hashing of the body, where the caller checks it.
func unchecked(o *s3.Options) {
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
}

// get reads a whole object. A damaged object has its etag too.
func (s *Store) get(ctx context.Context, key string, options ...func(*s3.Options)) (body []byte, etag string, err error) {
	etag, err = s.read(ctx, key, func(r io.Reader, size int64) error {
		body, err = readAll(r, size)
		return err
	}, options...)
	if err != nil {
		body = nil
	}
	return body, etag, err
}

// read hands an object's body to take, with its size as far as the answer tells it, to read to the end (where the checksum
// is checked). A body that breaks off is asked for again, which the SDK does only for requests, and handed to take anew.
func (s *Store) read(ctx context.Context, key string, take func(body io.Reader, size int64) error, options ...func(*s3.Options)) (etag string, err error) {
	const tries = 3
	for try := 1; ; try++ {
		etag, err = s.readOnce(ctx, key, take, options)
		if err == nil {
			return etag, nil
		}
		if err = s.failure(key, err); etag == "" || rl.KindOf(err) != rl.Unavailable || try == tries || ctx.Err() != nil {
			return etag, err
		}
	}
}

var errTooSlow = fmt.Errorf("it takes too long: %w", context.DeadlineExceeded)

// readOnce makes one request. The time for its body follows from the size, which the answer's header says. The etag is
// empty when there was no answer.
func (s *Store) readOnce(ctx context.Context, key string, take func(io.Reader, int64) error, options []func(*s3.Options)) (etag string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	overdue := time.AfterFunc(patience(0), func() { cancel(errTooSlow) })
	defer overdue.Stop()
	defer func() {
		if err != nil && context.Cause(ctx) == errTooSlow {
			err = errTooSlow // and not that somebody cancelled
		}
	}()
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)}, options...)
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	size := aws.ToInt64(out.ContentLength)
	overdue.Reset(patience(size))
	return aws.ToString(out.ETag), take(out.Body, size)
}

// readAll reads to the end. size is a hint, trusted up to a chunk.
func readAll(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(size, 0), ChunkSize)) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// Head says whether an object exists, without reading it. Errors as Get.
func (s *Store) Head(ctx context.Context, key string) (Object, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
	if err != nil {
		return Object{}, s.failure(key, err)
	}
	return Object{Key: key, Size: aws.ToInt64(out.ContentLength), Modified: aws.ToTime(out.LastModified)}, nil
}

// Names lists what is directly under prefix, which is empty or ends in "/": sub-directories with a trailing "/",
// objects without. Errors as Get.
func (s *Store) Names(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	for page, err := range s.pages(ctx, prefix, "/") {
		if err != nil {
			return nil, err
		}
		for _, p := range page.CommonPrefixes {
			names = append(names, aws.ToString(p.Prefix)[len(s.prefix+prefix):])
		}
		for _, o := range page.Contents {
			names = append(names, aws.ToString(o.Key)[len(s.prefix+prefix):])
		}
	}
	return names, nil
}

// Runs lists the runs that have anything in the store. Errors as Get.
func (s *Store) Runs(ctx context.Context) ([]rl.RunID, error) {
	names, err := s.Names(ctx, "runs/")
	var runs []rl.RunID
	for _, n := range names {
		if id, ok := strings.CutSuffix(n, "/"); ok && rl.RunID(id).Valid() {
			runs = append(runs, rl.RunID(id))
		}
	}
	return runs, err
}

// pages lists keys, a thousand a page.
func (s *Store) pages(ctx context.Context, prefix, delimiter string) iter.Seq2[*s3.ListObjectsV2Output, error] {
	return func(yield func(*s3.ListObjectsV2Output, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)}
		if delimiter != "" {
			in.Delimiter = &delimiter
		}
		for p := s3.NewListObjectsV2Paginator(s.client, in); p.HasMorePages(); {
			page, err := p.NextPage(ctx)
			if err != nil {
				yield(nil, s.failure(prefix, err))
				return
			}
			if !yield(page, nil) {
				return
			}
		}
	}
}
