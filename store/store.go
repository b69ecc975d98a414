package store

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/longhaul-rl/longhaul/rl"
)

// Options names the embedded server. Without an Endpoint everything is taken from the AWS environment and profile
// files (AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_CA_BUNDLE and so on).
type Options struct {
	Endpoint  string // http://host:port; empty: the AWS environment
	AccessKey string
	SecretKey string
	Transport http.RoundTripper // nil: the network
	Log       *slog.Logger      // of the SDK's own messages, at debug; nil drops them
}

// Store is one bucket and prefix of an S3 endpoint. It is safe for concurrent use.
type Store struct {
	client  *s3.Client
	bucket  string
	prefix  string // "" or ending in "/"
	network bool   // requests leave this process
}

// connections is how many idle connections are kept to the endpoint: the concurrency of a busy worker.
const connections = 128

// Open makes a Store for s3://bucket[/prefix]. It makes no request to the endpoint (Check does), but may ask the
// environment's credential source. Errors: Invalid for a malformed address or a missing region,
// Unavailable when that source gives no credentials.
func Open(ctx context.Context, uri string, o Options) (*Store, error) {
	bucket, prefix, err := parse(uri)
	if err != nil {
		return nil, err
	}
	s := &Store{bucket: bucket, prefix: prefix, network: o.Transport == nil}
	if o.Endpoint != "" {
		s.client = embedded(o)
		return s, nil
	}
	s.client, err = external(ctx, uri, o)
	return s, err
}

// String is the address, s3://bucket/prefix.
func (s *Store) String() string { return strings.TrimSuffix("s3://"+s.bucket+"/"+s.prefix, "/") }

// URI is the address of an object, s3://bucket/prefix/key.
func (s *Store) URI(key string) string { return "s3://" + s.bucket + "/" + s.prefix + key }

// Env is what another process needs to reach the same endpoint by the AWS SDK, credentials excepted.
func (s *Store) Env() map[string]string {
	o := s.client.Options()
	env := map[string]string{"AWS_REGION": o.Region}
	if o.BaseEndpoint != nil {
		env["AWS_ENDPOINT_URL_S3"] = *o.BaseEndpoint
	}
	return env
}

func parse(uri string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(uri, "s3://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return "", "", rl.Errorf(rl.Invalid, "store", "%q is not of the form s3://bucket/prefix", uri)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return bucket, prefix, nil
}

// embedded is a client that nothing in the environment can redirect.
func embedded(o Options) *s3.Client {
	var client s3.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(network)
	if o.Transport != nil {
		client = &http.Client{Transport: o.Transport}
	}
	return s3.New(s3.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(o.Endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, ""),
		HTTPClient:   client,
		Logger:       o.sdk(),

		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}, common)
}

func external(ctx context.Context, uri string, o Options) (*s3.Client, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(o.sdk()))
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "store "+uri, "the AWS configuration cannot be read: %w", err)
	}
	if cfg.Credentials == nil {
		return nil, rl.Errorf(rl.Refused, "store "+uri, "there are no AWS credentials")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		// Where credentials come from a service, it may answer later.
		return nil, rl.Errorf(rl.Unavailable, "store "+uri, "there are no AWS credentials (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile): %w", err)
	}
	client := s3.NewFromConfig(cfg, common, func(o *s3.Options) {
		// Set here and not in config: with AWS_CA_BUNDLE the config accepts only its own kind of client.
		if c, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
			o.HTTPClient = c.WithTransportOptions(network)
		}
	})
	if client.Options().Region == "" {
		return nil, rl.Errorf(rl.Invalid, "store "+uri, "there is no AWS region: set AWS_REGION")
	}
	return client, nil
}

// common is what both kinds of client share. A custom endpoint is addressed by path, since few resolve
// bucket.host names, and its region does not matter.
func common(o *s3.Options) {
	if o.BaseEndpoint != nil {
		o.UsePathStyle = true
		if o.Region == "" {
			o.Region = "us-east-1"
		}
	}
	again := retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts, s.Backoff = attempts, retry.BackoffDelayerFunc(backoff)
		s.RateLimiter = ratelimit.None // the stages have a backoff of their own
	})
	// AWS answers 409 when two conditional writes of one key meet; either may be sent again. So may a request that was signed before a
	// clock jumped: it is signed anew, though by the answer's date no clock is wrong any more, which is what the SDK goes by.
	o.Retryer = retry.AddWithErrorCodes(again, "ConditionalRequestConflict", "OperationAborted", "RequestTimeTooSkewed", "RequestExpired")
	o.DisableLogOutputChecksumValidationSkipped = true
}

// network fits the transport to a worker: many connections, none of which waits for ever.
func network(t *http.Transport) {
	t.MaxIdleConns, t.MaxIdleConnsPerHost = connections, connections
	t.ResponseHeaderTimeout = answerTime
}

// answerTime is how long an endpoint may take to begin its answer, and slowest the rate in bytes a second at which a
// body must come through at least.
const (
	answerTime = time.Minute
	slowest    = 1 << 20
)

// attempts is how often the SDK sends a request whose answer may be another one next time. An endpoint that fails three
// requests in ten then fails one in a thousand.
const attempts = 6

// backoff is how long the SDK waits before it sends a request again: 50 ms at first, twice as long each time, less up to
// half of it by chance. The SDK's own first pause, of up to a second, would hold up every turn that waits for its commit.
func backoff(attempt int, _ error) (time.Duration, error) {
	d := 50 * time.Millisecond << min(attempt-1, 6)
	return d - time.Duration(rand.Int64N(int64(d/2))), nil
}

// patience bounds a request with a body of size bytes, all attempts at it.
func patience(size int64) time.Duration {
	return 3 * (answerTime + time.Duration(size)*time.Second/slowest)
}
