package store

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/longhaul-rl/longhaul/rl"
)

// Check proves that the endpoint can be trusted with a run: it writes, reads and lists, and honours If-None-Match
// and If-Match, without which two writers would silently overwrite one another. What it wrote it removes.
// Errors: NotFound when the bucket does not exist, Refused when the rights are missing or a condition is ignored,
// Unavailable when there is no answer.
func (s *Store) Check(ctx context.Context) error {
	key := "check/" + rand.Text()
	defer func() {
		if ctx.Err() != nil { // what does not answer does not delete either
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.Delete(ctx, key) // what matters has been found out; a probe left behind harms nothing
	}()
	probe := func(text string, c condition) error { return s.put(ctx, RefOf(key, []byte(text)), []byte(text), c) }
	mine := func(text string, c condition) error { // a write whose answer is lost is sent again, and meets itself
		err := probe(text, c)
		if rl.KindOf(err) == rl.Conflict {
			if body, e := s.Get(ctx, key); e == nil && string(body) == text {
				return nil
			}
		}
		return err
	}
	if err := mine("one", onlyNew); err != nil {
		return err
	}
	if err := probe("two", onlyNew); rl.KindOf(err) != rl.Conflict {
		return s.ignored("If-None-Match: *", err)
	}
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
	if err != nil {
		return s.failure(key, err)
	}
	first := aws.ToString(head.ETag)
	if err := mine("three", ifMatch(first)); err != nil {
		return err
	}
	if err := probe("four", ifMatch(first)); rl.KindOf(err) != rl.Conflict {
		return s.ignored("If-Match", err)
	}
	return s.readsBack(ctx, key, "three")
}

// ignored is the answer when a write went through, or failed otherwise, that a condition forbade.
func (s *Store) ignored(header string, err error) error {
	if err != nil {
		return err
	}
	return rl.Errorf(rl.Refused, at(s.String()), "the endpoint ignores %s: it overwrites what another writer left, so it cannot hold a run (rclone serve s3 is such a server)", header)
}

// readsBack checks that the probe's content and its place in a listing are right.
func (s *Store) readsBack(ctx context.Context, key, want string) error {
	body, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	if string(body) != want {
		return rl.Errorf(rl.Refused, at(s.String()), "the endpoint returned %q right after %q was written: its reads lag behind its writes", body, want)
	}
	for o, err := range s.List(ctx, key) {
		if err != nil || o.Key == key {
			return err
		}
	}
	return rl.Errorf(rl.Refused, at(s.String()), "the endpoint does not list an object that was just written")
}
