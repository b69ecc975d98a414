package launch

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"

	"github.com/longhaul-rl/longhaul/rl"
)

// TestSageMakerMoto goes over the wire to a server that is not ours, LONGHAUL_TEST_MOTO's: what a job is created with is
// what it is found by, and its log is read. Moto's training jobs are completed at once, cannot be stopped, and a taken
// name is overwritten: for these, region_test.go is the server.
func TestSageMakerMoto(t *testing.T) {
	path := os.Getenv("LONGHAUL_TEST_MOTO")
	if path == "" {
		t.Skip("LONGHAUL_TEST_MOTO names no moto_server; make test installs one")
	}
	r, job := regionAt(moto(t, path), someRegion), aJob(t)
	if s, err := r.Poll(t.Context(), job); err != nil || s.State != Absent {
		t.Fatalf("before it was asked for: %+v, %v", s, err)
	}
	ensure(t, r, job, 1)
	s, err := r.Poll(t.Context(), job)
	if err != nil || s.State != Done || s.Attempt != 1 || !strings.HasSuffix(s.Identity, "training-job/"+job.Name()) {
		t.Errorf("%+v, %v", s, err)
	}
	ensure(t, r, job, 1)
	ensure(t, r, job, 2)
	if s, err := r.Poll(t.Context(), job); err != nil || s.Attempt != 2 || !strings.HasSuffix(s.Identity, "training-job/"+job.Name()+"-r2") {
		t.Errorf("another attempt: %+v, %v", s, err)
	}
	list, err := r.jobs.ListTrainingJobs(t.Context(), &sagemaker.ListTrainingJobsInput{})
	if err != nil || len(list.TrainingJobSummaries) != 2 {
		t.Errorf("%d training jobs were made, %v", len(list.TrainingJobSummaries), err)
	}
	other := job
	other.Key = strings.Repeat("cd", 32)
	if err := r.Ensure(t.Context(), other, 1); rl.KindOf(err) != rl.Conflict {
		t.Errorf("another spec of that name: %v", err)
	}
	if err := r.Cancel(t.Context(), job); err != nil {
		t.Errorf("cancelling what has ended: %v", err)
	}
	motoLogs(t, r, job)
}

// motoLogs writes a log as SageMaker would, and reads it.
func motoLogs(t *testing.T, r *region, job Job) {
	if _, err := r.Logs(t.Context(), job); rl.KindOf(err) != rl.NotFound {
		t.Errorf("no log yet: %v", err)
	}
	stream := aws.String(attemptName(job, 2) + "/algo-1-1700000000")
	if _, err := r.logs.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: new(logGroup)}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.logs.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: new(logGroup), LogStreamName: stream}); err != nil {
		t.Fatal(err)
	}
	want, events := "", []types.InputLogEvent(nil)
	for i := range 100 {
		line := fmt.Sprintf("line %d", i)
		want += line + "\n"
		events = append(events, types.InputLogEvent{Message: &line, Timestamp: new(time.Now().UnixMilli() + int64(i))})
	}
	if _, err := r.logs.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{LogGroupName: new(logGroup), LogStreamName: stream, LogEvents: events}); err != nil {
		t.Fatal(err)
	}
	log, err := r.Logs(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if b, err := io.ReadAll(log); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
}

// moto starts a server on a free port and returns its URL.
func moto(t *testing.T, path string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(path, "-H", "127.0.0.1", "-p", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return "http://" + address
		}
	}
	t.Fatalf("%s does not listen", path)
	return ""
}
