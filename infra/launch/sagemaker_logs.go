package launch

import (
	"context"
	"io"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// logGroup is where SageMaker keeps what training jobs write.
const logGroup = "/aws/sagemaker/TrainingJobs"

// streams are the log streams of a training job, the oldest first: NAME/algo-1-SECONDS, one for each time that a machine
// began.
func (r *region) streams(ctx context.Context, prefix string) (names []string, err error) {
	pages := cloudwatchlogs.NewDescribeLogStreamsPaginator(r.logs, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: new(logGroup), LogStreamNamePrefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.LogStreams {
			names = append(names, value(s.LogStreamName))
		}
	}
	slices.Sort(names)
	return names, nil
}

// logReader reads log streams one after another, a page at a time.
type logReader struct {
	ctx     context.Context
	client  *cloudwatchlogs.Client
	failure func(error) error
	streams []string // that are left; the first is being read
	token   *string  // of the next page in it
	page    []byte   // what is left of the last
}

func (l *logReader) Read(b []byte) (int, error) {
	for len(l.page) == 0 {
		if len(l.streams) == 0 {
			return 0, io.EOF
		}
		if err := l.next(); err != nil {
			return 0, l.failure(err)
		}
	}
	n := copy(b, l.page)
	l.page = l.page[n:]
	return n, nil
}

// next gets a page. A stream is at its end when a page's token is the one that it was asked for with.
func (l *logReader) next() error {
	page, err := l.client.GetLogEvents(l.ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: new(logGroup), LogStreamName: &l.streams[0], NextToken: l.token, StartFromHead: new(true)})
	if err != nil {
		return err
	}
	for _, e := range page.Events {
		l.page = append(append(l.page, value(e.Message)...), '\n')
	}
	if last := value(l.token); value(page.NextForwardToken) == last {
		l.streams, l.token = l.streams[1:], nil
		return nil
	}
	l.token = page.NextForwardToken
	return nil
}

// Close has nothing to close: pages are read as they come.
func (l *logReader) Close() error { return nil }
