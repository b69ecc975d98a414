package launch

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/longhaul-rl/longhaul/rl"
)

// ended reports whether a training job is over.
func ended(d *sagemaker.DescribeTrainingJobOutput) bool {
	return d.TrainingJobStatus != types.TrainingJobStatusInProgress && d.TrainingJobStatus != types.TrainingJobStatusStopping
}

// trainingStatus reads what SageMaker says of the n-th attempt.
func trainingStatus(n int, d *sagemaker.DescribeTrainingJobOutput, now time.Time) Status {
	s := Status{State: Running, Attempt: n, Identity: value(d.TrainingJobArn), Why: value(d.FailureReason)}
	switch d.TrainingJobStatus {
	case types.TrainingJobStatusCompleted:
		s.State = Done
	case types.TrainingJobStatusFailed:
		s.State, s.Exit = Lost, exitCode(s.Why)
		if s.Exit == ExitPermanent || strings.HasPrefix(s.Why, "ClientError") { // no such image, a role that may not: a person has to look
			s.State = Failed
		}
	case types.TrainingJobStatusInProgress, types.TrainingJobStatusStopping:
		if waits[d.SecondaryStatus] {
			s.State, s.Why = Queued, string(d.SecondaryStatus)
			if t := d.SecondaryStatusTransitions; len(t) > 0 && value(t[len(t)-1].StatusMessage) != "" {
				s.Why += ": " + *t[len(t)-1].StatusMessage
			}
		}
	default: // stopped by somebody, or by its time running out
		s.State, s.Exit, s.Why = Lost, -1, strings.TrimPrefix(s.Why+"; "+string(d.SecondaryStatus), "; ")
	}
	began, over := value(d.TrainingStartTime), value(d.TrainingEndTime)
	if over.IsZero() {
		over = now
	}
	if began.IsZero() {
		s.Queued = max(0, over.Sub(value(d.CreationTime)))
		return s
	}
	s.Queued = max(0, began.Sub(value(d.CreationTime)))
	s.Ran = max(0, over.Sub(began))
	if d.TrainingTimeInSeconds != nil { // an interrupted job did not have a machine all the time
		had := time.Duration(*d.TrainingTimeInSeconds) * time.Second
		s.Queued += max(0, s.Ran-had)
		s.Ran = had
	}
	s.Billed = time.Duration(value(d.BillableTimeInSeconds)) * time.Second
	return s
}

// waits are the secondary statuses of a job that has no machine.
var waits = map[types.SecondaryStatus]bool{
	types.SecondaryStatusStarting: true, types.SecondaryStatusLaunchingMlInstances: true, types.SecondaryStatusPreparingTrainingStack: true,
	types.SecondaryStatusPending: true, types.SecondaryStatusInterrupted: true, types.SecondaryStatusRestarting: true,
}

var exitPattern = regexp.MustCompile(`(?i)exit code:? *([0-9]+)`)

// exitCode finds the container's exit code in a failure's reason ("AlgorithmError: , exit code: 42"), -1 when it has
// none: SageMaker's own failures (CapacityError, InternalServerError, ClientError).
func exitCode(reason string) int {
	all := exitPattern.FindAllStringSubmatch(reason, -1)
	if !strings.HasPrefix(reason, "AlgorithmError") || len(all) == 0 {
		return -1
	}
	n, err := strconv.Atoi(all[len(all)-1][1])
	if err != nil {
		return -1
	}
	return n
}

// value is what a pointer of the SDK points at, zero where it does not.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// code is AWS's name of an error, empty when the service did not answer with one.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// missing reports whether SageMaker says that there is no training job of a name, which it does as a failed validation.
func missing(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	text := strings.ToLower(api.ErrorMessage())
	return api.ErrorCode() == "ResourceNotFound" || strings.HasPrefix(api.ErrorCode(), "Validation") && (strings.Contains(text, "not found") || strings.Contains(text, "could not find"))
}

// failure says what AWS's refusal means; nil stays nil.
func (r *region) failure(job Job, err error) error {
	if err == nil {
		return nil
	}
	var params smithy.InvalidParamsError
	answer, _ := errors.AsType[*smithyhttp.ResponseError](err)
	kind := rl.Refused // access, a quota, an unknown role
	switch name := code(err); {
	case errors.As(err, &params), strings.HasPrefix(name, "Validation"):
		kind = rl.Invalid
	case answer == nil || answer.HTTPStatusCode() < 300, answer.HTTPStatusCode() >= 500, strings.HasPrefix(name, "Throttling"), name == "RequestTimeout", strings.HasPrefix(name, "ExpiredToken"):
		kind = rl.Unavailable
	}
	return rl.Errorf(kind, r.at(job), "%w", err)
}
