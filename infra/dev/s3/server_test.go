package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
)

var (
	keys   = s3.Options{AccessKey: "access", SecretKey: "secret-key"}
	bucket = aws.String("bucket")
)

// open starts a server over dir.
func open(t testing.TB, dir string) *s3.Server {
	t.Helper()
	s, err := s3.Open(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// client is the SDK over any transport to any endpoint, without retries.
func client(endpoint, secret string, transport http.RoundTripper) *sdk.Client {
	return sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, UsePathStyle: true, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(keys.AccessKey, secret, ""), Retryer: aws.NopRetryer{},
	})
}

// near is a client without a socket.
func near(s http.Handler) *sdk.Client {
	return client("http://embedded.local", keys.SecretKey, inprocess.Transport{Handler: s})
}

func put(ctx context.Context, c *sdk.Client, key string, body []byte, change ...func(*sdk.PutObjectInput)) error {
	in := &sdk.PutObjectInput{Bucket: bucket, Key: &key, Body: bytes.NewReader(body)}
	for _, f := range change {
		f(in)
	}
	_, err := c.PutObject(ctx, in)
	return err
}

func get(ctx context.Context, c *sdk.Client, key string, span string) ([]byte, error) {
	in := &sdk.GetObjectInput{Bucket: bucket, Key: &key}
	if span != "" {
		in.Range = &span
	}
	out, err := c.GetObject(ctx, in)
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// code is the S3 error code of err, "" when it is nil.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func newOnly(in *sdk.PutObjectInput) { in.IfNoneMatch = aws.String("*") }

// content is deterministic bytes of some size.
func content(seed string, size int) []byte {
	return bytes.Repeat([]byte(seed+"."), size/(len(seed)+1)+1)[:size]
}

// Objects of every size class, over a socket and without one, whole and in ranges, and after a restart.
func TestObjects(t *testing.T) {
	dir := t.TempDir()
	server := open(t, dir)
	web := httptest.NewServer(server)
	defer web.Close()
	sizes := []int{0, 1, 64 << 10, 64<<10 + 1, 3 << 20}
	for i, c := range []*sdk.Client{near(server), client(web.URL, keys.SecretKey, nil)} {
		for _, size := range sizes {
			key := fmt.Sprintf("a b/é+%%/%d-%d", i, size)
			if err := put(t.Context(), c, key, content(key, size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	web.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	c := near(open(t, dir))
	for i := range 2 {
		for _, size := range sizes {
			key := fmt.Sprintf("a b/é+%%/%d-%d", i, size)
			want := content(key, size)
			if got, err := get(t.Context(), c, key, ""); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", key, len(got), err)
			}
			if size < 10 {
				continue
			}
			for span, part := range map[string][]byte{"bytes=3-7": want[3:8], "bytes=5-": want[5:], "bytes=-4": want[size-4:]} {
				if got, err := get(t.Context(), c, key, span); err != nil || !bytes.Equal(got, part) {
					t.Errorf("%s %s: %d bytes, %v", key, span, len(got), err)
				}
			}
		}
	}
	if _, err := get(t.Context(), c, "a b/é+%/0-1", "bytes=9-"); code(err) != "InvalidRange" {
		t.Errorf("range past the end: %v", err)
	}
}

func TestDelete(t *testing.T) {
	dir := t.TempDir()
	c := near(open(t, dir))
	for _, key := range []string{"a", "b", "c"} {
		if err := put(t.Context(), c, key, content(key, 100<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: bucket, Key: aws.String("a")}); err != nil {
		t.Fatal(err)
	}
	out, err := c.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("b")}, {Key: aws.String("none")}}}})
	if err != nil || len(out.Deleted) != 2 || len(out.Errors) != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	for key, want := range map[string]string{"a": "NoSuchKey", "b": "NoSuchKey", "c": ""} {
		if _, err := get(t.Context(), c, key, ""); code(err) != want {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
	if files, _ := os.ReadDir(filepath.Join(dir, "blobs")); len(files) != 1 {
		t.Errorf("%d blobs are left, not 1", len(files))
	}
}

// Exactly one of many writers creates an object, and exactly one replaces it, whatever its size.
func TestConditionsRace(t *testing.T) {
	dir := t.TempDir()
	c := near(open(t, dir))
	race := func(key string, round, size int, condition func(*sdk.PutObjectInput)) (winner string) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i := range 16 {
			wg.Go(func() {
				err := put(t.Context(), c, key, content(fmt.Sprint(round, key, i), size), condition)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && winner == "":
					winner = fmt.Sprint(round, key, i)
				case err == nil:
					t.Errorf("%s: %s and %d both won", key, winner, i)
				case code(err) != "PreconditionFailed":
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return winner
	}
	for _, size := range []int{10, 100 << 10} {
		key := fmt.Sprintf("k%d-", size)
		for round, condition := range []func(*sdk.PutObjectInput){newOnly, nil} {
			if condition == nil {
				head, err := c.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: bucket, Key: &key})
				if err != nil {
					t.Fatal(err)
				}
				condition = func(in *sdk.PutObjectInput) { in.IfMatch = head.ETag }
			}
			winner := race(key, round, size, condition)
			if got, err := get(t.Context(), c, key, ""); err != nil || !bytes.Equal(got, content(winner, size)) {
				t.Errorf("round %d: %.20q, %v; %s won", round, got, err, winner)
			}
		}
	}
	if files, _ := os.ReadDir(filepath.Join(dir, "blobs")); len(files) != 1 {
		t.Errorf("%d blobs are left, not 1", len(files))
	}
}

func TestRefusals(t *testing.T) {
	server := open(t, t.TempDir())
	web := httptest.NewServer(server)
	defer web.Close()
	c := near(server)
	upload := &sdk.CreateMultipartUploadInput{Bucket: bucket, Key: aws.String("k")}
	if _, err := c.CreateMultipartUpload(t.Context(), upload); code(err) != "NotImplemented" {
		t.Errorf("multipart upload: %v", err)
	}
	if err := put(t.Context(), c, "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CopyObject(t.Context(), &sdk.CopyObjectInput{Bucket: bucket, Key: aws.String("l"), CopySource: aws.String("bucket/k")}); code(err) != "NotImplemented" {
		t.Errorf("copy: %v", err)
	}
	if err := put(t.Context(), client(web.URL, "wrong-secret", nil), "k", []byte("y")); code(err) != "SignatureDoesNotMatch" {
		t.Errorf("wrong secret: %v", err)
	}
	if answer, err := http.Get(web.URL + "/bucket/k"); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("unsigned: %v %v", answer.Status, err)
	}
	if got, err := get(t.Context(), c, "k", ""); err != nil || string(got) != "x" {
		t.Errorf("the object is %q, %v", got, err)
	}
}

// A body that is not the one that was signed is refused, whether it fits in the index or not.
func TestBodyIsVerified(t *testing.T) {
	server := open(t, t.TempDir())
	for _, size := range []int{1, 1000, 100 << 10} {
		damage := roundTripper(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			body[len(body)-1] ^= 1
			r.Body = io.NopCloser(bytes.NewReader(body))
			// A checksum that fits the damage leaves only the signed hash of the body to tell.
			for k := range r.Header {
				if strings.HasPrefix(k, "X-Amz-Checksum") || k == "X-Amz-Sdk-Checksum-Algorithm" {
					t.Errorf("unexpected %s", k)
				}
			}
			return inprocess.Transport{Handler: server}.RoundTrip(r)
		})
		c := client("http://embedded.local", keys.SecretKey, damage)
		key := fmt.Sprint("k", size)
		if err := put(t.Context(), c, key, content("x", size)); code(err) != "BadDigest" {
			t.Errorf("%d bytes: %v", size, err)
		}
		if _, err := get(t.Context(), near(server), key, ""); code(err) != "NoSuchKey" {
			t.Errorf("%d bytes: it was stored: %v", size, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := s3.Open(dir, s3.Options{}); rl.KindOf(err) != rl.Invalid {
		t.Errorf("without keys: %v", err)
	}
	server := open(t, dir)
	if _, err := s3.Open(dir, keys); rl.KindOf(err) != rl.Conflict {
		t.Errorf("open twice: %v", err)
	}
	server.Close()
	if err := put(t.Context(), near(server), "k", nil); code(err) != "InternalError" {
		t.Errorf("after Close: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.db"), content("garbage", 32<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s3.Open(dir, keys); rl.KindOf(err) != rl.Corrupt {
		t.Errorf("a damaged index: %v", err)
	}
}
