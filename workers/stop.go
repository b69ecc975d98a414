package workers

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
)

// Lost is the type of the failure with which a stage ends that its worker's end cut off. It is done again, and nobody
// has to wait for anything: it is no trouble to tell people of. The embedded server gives it to the stages of a killed
// process.
const Lost = "WorkerLost"

var errStopping = errors.New("the worker stops")

// cutOff ends running stages as soon as their worker stops: all of them can be cut off anywhere, and what they recorded
// stays. They are asked for again at once, so that another worker has them without a heartbeat being missed.
type cutOff struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity stands before every stage.
func (*cutOff) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &stage{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type stage struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity runs a stage until its end or its worker's.
func (s *stage) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopping := activity.GetWorkerStopChannel(ctx)
	go func() {
		select {
		case <-stopping:
			cancel(errStopping)
		case <-ctx.Done():
		}
	}()
	out, err := s.Next.ExecuteActivity(ctx, in)
	if err != nil && errors.Is(context.Cause(ctx), errStopping) {
		return nil, temporal.NewApplicationErrorWithOptions(errStopping.Error(), Lost, temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
	}
	return out, err
}
