package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"github.com/longhaul-rl/longhaul/rl"
)

// Object is what is known of an object without reading it.
type Object struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// SHA256 is the lower-case hex sha256 of b, as in rl.Ref.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// RefOf is the reference of an object with this content.
func RefOf(key string, body []byte) rl.Ref {
	return rl.Ref{Key: key, SHA256: SHA256(body), Size: int64(len(body))}
}

// PutNew writes an object that must not exist with other content. Writing the same content again is no error.
// Errors: Conflict when other content is recorded, else as Get.
func (s *Store) PutNew(ctx context.Context, key string, body []byte) (rl.Ref, error) {
	ref, recorded, err := s.PutFirst(ctx, key, body)
	if err == nil && !bytes.Equal(recorded, body) {
		return ref, rl.Errorf(rl.Conflict, at(key), "it is already written with other content (sha256 %.12s, now %.12s)", ref.SHA256, SHA256(body))
	}
	return ref, err
}

// PutFirst writes an object unless it exists, and returns what is recorded: body, or what an earlier writer left.
// A recorded object that is damaged counts as none and is replaced. Errors as Get.
func (s *Store) PutFirst(ctx context.Context, key string, body []byte) (rl.Ref, []byte, error) {
	return s.putFirst(ctx, key, body, func([]byte) error { return nil })
}

// putFirst is PutFirst where a recorded object is damaged, too, when sound says Corrupt of its bytes: an endpoint
// need not keep checksums.
func (s *Store) putFirst(ctx context.Context, key string, body []byte, sound func([]byte) error) (rl.Ref, []byte, error) {
	mine := RefOf(key, body)
	condition := onlyNew
	for range contended {
		err := s.put(ctx, mine, body, condition)
		if rl.KindOf(err) != rl.Conflict {
			return mine, body, err
		}
		// The object exists. It may be ours all the same: the SDK sends a request again when its answer is lost.
		recorded, etag, err := s.get(ctx, key)
		if err == nil {
			err = sound(recorded)
		}
		switch rl.KindOf(err) {
		case rl.Corrupt:
			condition = ifMatch(etag)
		case rl.NotFound: // deleted in between
			condition = onlyNew
		default:
			return RefOf(key, recorded), recorded, err
		}
	}
	return rl.Ref{}, nil, rl.Errorf(rl.Unavailable, at(key), "it changed under each of %d writes", contended)
}

// contended is how often a write is tried whose condition fails because other writers are faster.
const contended = 100

// Put writes an object whatever is there. Only progress notes and leases are written so. Errors as Get.
func (s *Store) Put(ctx context.Context, key string, body []byte) (rl.Ref, error) {
	ref := RefOf(key, body)
	return ref, s.put(ctx, ref, body, nil)
}

// A condition is a precondition of a write; failing it is an error of kind Conflict.
type condition func(*s3.PutObjectInput)

func onlyNew(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }

func ifMatch(etag string) condition {
	return func(in *s3.PutObjectInput) { in.IfMatch = aws.String(etag) }
}

// put sends one object with its sha256, which was computed once for the reference, the checksum and the signature.
func (s *Store) put(ctx context.Context, ref rl.Ref, body []byte, c condition) error {
	return s.send(ctx, ref, bytes.NewReader(body), c)
}

// send is put for a body of ref.Size bytes that need not fit in memory.
func (s *Store) send(ctx context.Context, ref rl.Ref, body io.ReadSeeker, c condition) error {
	sum, err := hex.DecodeString(ref.SHA256)
	if err != nil {
		return rl.Errorf(rl.Invalid, at(ref.Key), "%q is not a sha256", ref.SHA256)
	}
	ctx, cancel := context.WithTimeout(ctx, patience(ref.Size))
	defer cancel()
	in := &s3.PutObjectInput{
		Bucket:         &s.bucket,
		Key:            aws.String(s.prefix + ref.Key),
		Body:           body,
		ContentLength:  aws.Int64(ref.Size),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum)),
	}
	if c != nil {
		c(in)
	}
	if _, err := s.client.PutObject(ctx, in, s3.WithAPIOptions(payloadHash(ref.SHA256))); err != nil {
		return s.failure(ref.Key, err)
	}
	return nil
}

// payloadHash gives the signer the body's hash, so that it does not hash the body a second time.
func payloadHash(sum string) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("PayloadHash",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				return next.HandleInitialize(v4.SetPayloadHash(ctx, sum), in)
			}), middleware.Before)
	}
}

// Delete removes an object; one that does not exist is no error. Errors as Get.
func (s *Store) Delete(ctx context.Context, key string) error {
	if _, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)}); err != nil {
		return s.failure(key, err)
	}
	return nil
}

// List yields the objects whose keys begin with prefix, in the order of their keys. An error ends it. Errors as Get.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for page, err := range s.pages(ctx, prefix, "") {
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, o := range page.Contents {
				object := Object{Key: aws.ToString(o.Key)[len(s.prefix):], Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}
