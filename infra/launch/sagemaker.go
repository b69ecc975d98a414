package launch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { Register("sagemaker", openSageMaker) }

// region runs jobs as training jobs of SageMaker. A name is taken in it for ever, so the attempts of a job are NAME,
// NAME-r2, NAME-r3 and so on: of any number of workers that ask for the next one creates it, and the others find it. An
// attempt of managed spot training may be interrupted and go on: that is SageMaker's doing, and not another attempt.
type region struct {
	jobs         *sagemaker.Client
	logs         *cloudwatchlogs.Client
	identity     *sts.Client
	config       rl.SageMakerConfig
	timeout      time.Duration
	confirmEvery time.Duration // how often the end of what is stopped is asked for
}

func openSageMaker(u rl.UpdateConfig, h Host) (Launcher, error) {
	if err := elsewhere(h, "sagemaker"); err != nil {
		return nil, err
	}
	c, err := config.LoadDefaultConfig(context.Background(), config.WithRegion(u.SageMaker.Region))
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "sagemaker", "%w", err)
	}
	return newRegion(c, u.SageMaker, time.Duration(u.Timeout)), nil
}

func newRegion(c aws.Config, of rl.SageMakerConfig, timeout time.Duration) *region {
	return &region{sagemaker.NewFromConfig(c), cloudwatchlogs.NewFromConfig(c), sts.NewFromConfig(c), of, timeout, 2 * time.Second}
}

// Ensure creates the training job that comes after the last, once that has ended. Attempts are numbered as SageMaker
// knows them, without gaps.
func (r *region) Ensure(ctx context.Context, job Job, attempt int) error {
	for {
		n, last, err := r.last(ctx, job)
		if err != nil || n >= attempt || n > 0 && !ended(last) {
			return err
		}
		_, err = r.jobs.CreateTrainingJob(ctx, r.request(job, n+1))
		if code(err) == "ResourceInUse" { // another worker was first, or the answer to a try of ours was lost
			continue
		}
		return r.failure(job, err)
	}
}

// Poll describes the last attempt.
func (r *region) Poll(ctx context.Context, job Job) (Status, error) {
	n, last, err := r.last(ctx, job)
	if err != nil || n == 0 {
		return Status{State: Absent}, err
	}
	return trainingStatus(n, last, time.Now()), nil
}

// Cancel stops the last attempt, and returns when it has.
func (r *region) Cancel(ctx context.Context, job Job) error {
	for {
		n, last, err := r.last(ctx, job)
		if err != nil || n == 0 || ended(last) {
			return err
		}
		if last.TrainingJobStatus == types.TrainingJobStatusInProgress {
			_, err := r.jobs.StopTrainingJob(ctx, &sagemaker.StopTrainingJobInput{TrainingJobName: last.TrainingJobName})
			if err != nil && code(err) != "ValidationException" { // it has ended meanwhile: the next look says so
				return r.failure(job, err)
			}
		}
		select {
		case <-ctx.Done():
			return rl.Errorf(rl.Unavailable, r.at(job), "it is being stopped, and has not ended yet: %w", ctx.Err())
		case <-time.After(r.confirmEvery):
		}
	}
}

// Logs is what the last attempt wrote to CloudWatch, that of all its machines in their order.
func (r *region) Logs(ctx context.Context, job Job) (io.ReadCloser, error) {
	n, _, err := r.last(ctx, job)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, rl.Errorf(rl.NotFound, r.at(job), "it was never started")
	}
	streams, err := r.streams(ctx, attemptName(job, n)+"/")
	if err != nil || len(streams) == 0 {
		if err == nil || code(err) == "ResourceNotFoundException" {
			return nil, rl.Errorf(rl.NotFound, r.at(job), "it has written nothing yet")
		}
		return nil, r.failure(job, err)
	}
	return &logReader{ctx: ctx, client: r.logs, streams: streams, failure: func(err error) error { return r.failure(job, err) }}, nil
}

// last is the newest attempt and its number, 0 when there is none. Conflict: an attempt is of another spec.
func (r *region) last(ctx context.Context, job Job) (n int, last *sagemaker.DescribeTrainingJobOutput, err error) {
	for {
		d, err := r.jobs.DescribeTrainingJob(ctx, &sagemaker.DescribeTrainingJobInput{TrainingJobName: new(attemptName(job, n+1))})
		if missing(err) {
			return n, last, nil
		}
		if err != nil {
			return 0, nil, r.failure(job, err)
		}
		if spec := d.HyperParameters[specParameter]; spec != job.Key {
			return 0, nil, rl.Errorf(rl.Conflict, r.at(job), "there is a training job %s with spec %q, not %s", *d.TrainingJobName, spec, job.Key)
		}
		n, last = n+1, d
	}
}

// attemptName is the name of the n-th attempt's training job. What is too much is taken off the front, where the run's
// own name is; the hash at the end stays.
func attemptName(job Job, n int) string {
	name := job.Name()
	if n > 1 {
		name += fmt.Sprintf("-r%d", n)
	}
	return strings.TrimLeft(name[max(0, len(name)-nameLimit):], "-")
}

func (r *region) at(job Job) string { return "sagemaker " + job.Name() }
