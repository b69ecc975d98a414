package store_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/store"
)

const accessKey, secretKey = "access", "a-secret-that-no-error-shows"

// endpoints is every S3 server that the conformance suite runs against: the embedded one, without a socket and
// over one, and a separate server process where LONGHAUL_TEST_MOTO names a moto_server (or PATH has one).
var endpoints = []endpoint{{"embedded", inProcess, true}, {"socket", overSocket, true}}

// endpoint makes a store that nothing else uses. Moto is not atomic: its put_object reads the key to test If-Match and
// If-None-Match and stores it later, without a lock, so that two threads may both pass the test. With Python's
// thread switch interval at a microsecond, two of 16 raw PUTs with If-None-Match: * are answered 200.
type endpoint struct {
	name   string
	open   func(t testing.TB) *store.Store
	atomic bool // conditional writes are, as S3 promises; racing writers are tested where it is so
}

var opened atomic.Int64 // gives each store its own prefix

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path := os.Getenv("LONGHAUL_TEST_MOTO")
	if path == "" {
		path, _ = exec.LookPath("moto_server")
	}
	if path != "" {
		url, stop, err := startMoto(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, path, err)
			return 1
		}
		defer stop()
		endpoints = append(endpoints, endpoint{"moto", func(t testing.TB) *store.Store { return separate(t, url) }, false})
	}
	return m.Run()
}

// startMoto runs a moto server on a free port, with one bucket.
func startMoto(path string) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	cmd := exec.Command(path, "-H", "127.0.0.1", "-p", fmt.Sprint(port))
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { cmd.Process.Kill(); cmd.Wait() }
	c := sdk.New(sdk.Options{Region: "us-east-1", BaseEndpoint: &url, UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, "")})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err = c.CreateBucket(context.Background(), &sdk.CreateBucketInput{Bucket: aws.String("bucket")}); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		stop()
	}
	return url, stop, err
}

// separate opens a store through the environment alone, as a user of a real endpoint does.
func separate(t testing.TB, url string) *store.Store {
	t.Helper()
	environment(t, url)
	return open(t, store.Options{})
}

func environment(t testing.TB, url string) {
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": url, "AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
}

func server(t testing.TB, dir string) *s3.Server {
	t.Helper()
	s, err := s3.Open(dir, s3.Options{AccessKey: accessKey, SecretKey: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func inProcess(t testing.TB) *store.Store { return near(t, server(t, t.TempDir())) }

// near opens a store on a handler.
func near(t testing.TB, h http.Handler) *store.Store {
	return through(t, inprocess.Transport{Handler: h})
}

// through opens a store whose requests all go through a transport.
func through(t testing.TB, transport http.RoundTripper) *store.Store {
	t.Helper()
	return open(t, store.Options{Endpoint: "http://embedded.local", AccessKey: accessKey, SecretKey: secretKey, Transport: transport})
}

func overSocket(t testing.TB) *store.Store {
	t.Helper()
	web := httptest.NewServer(server(t, t.TempDir()))
	t.Cleanup(web.Close)
	return open(t, store.Options{Endpoint: web.URL, AccessKey: accessKey, SecretKey: secretKey})
}

func open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), fmt.Sprintf("s3://bucket/p%d", opened.Add(1)), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transport is a function as an http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a response as an S3 server gives.
func answer(r *http.Request, status int, header http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: body, ContentLength: -1, Request: r}
}
