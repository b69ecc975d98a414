package launch

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/longhaul-rl/longhaul/rl"
)

// An interrupted spot job waits and goes on, as the same attempt; 42 ends it.
func TestSageMakerInterruption(t *testing.T) {
	g := aRegion(t)
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	await(t, l, job, 1, Running)
	set := func(secondary string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		_, d := g.last(job)
		d["SecondaryStatus"] = secondary
	}
	set("Interrupted")
	if s := await(t, l, job, 1, Queued); !strings.HasPrefix(s.Why, "Interrupted") {
		t.Errorf("interrupted it is %+v", s)
	}
	ensure(t, l, job, 2)
	set("Training")
	await(t, l, job, 1, Running)
	g.end(t, job, ExitPermanent)
	if s := await(t, l, job, 1, Failed); s.Exit != ExitPermanent {
		t.Errorf("after exit 42: %+v", s)
	}
	began(t, g, job, 1)
}

func TestSageMakerNames(t *testing.T) {
	job := Job{Run: "orders-1", Update: 7, Spec: "s3://bucket/jobs/ab/spec.json"}
	for _, c := range []struct {
		run     rl.RunID
		attempt int
		want    string
	}{
		{"orders-1", 1, "lh-orders-1-00000007-f7a29aae5c9030fa"}, {"orders-1", 2, "lh-orders-1-00000007-f7a29aae5c9030fa-r2"},
		{rl.RunID(strings.Repeat("x", 63)), 12, strings.Repeat("x", 33) + "-00000007-f7a29aae5c9030fa-r12"},
		{rl.RunID("a" + strings.Repeat("x", 62)), 2, "a" + strings.Repeat("x", 33) + "-00000007-f7a29aae5c9030fa-r2"},
	} {
		job.Run = c.run
		if got := attemptName(job, c.attempt); got != c.want || len(got) > nameLimit {
			t.Errorf("attempt %d of %s: %s, want %s", c.attempt, c.run, got, c.want)
		}
	}
}

// The whole request, with everything that can be said, is testdata/training_job.json, and is what AWS's model allows.
func TestSageMakerRequest(t *testing.T) {
	job := Job{Run: "orders-1", Update: 7, Key: strings.Repeat("ab", 32), Spec: "s3://bucket/p/jobs/abab/spec.json",
		Env: map[string]string{"LONGHAUL_SPEC_URI": "s3://bucket/p/jobs/abab/spec.json"}}
	g := aRegion(t)
	if err := g.open(t).Ensure(t.Context(), job, 1); err != nil {
		t.Fatal(err)
	}
	d := g.jobs[attemptName(job, 1)]
	for _, answered := range []string{"TrainingJobArn", "ModelArtifacts", "TrainingJobStatus", "SecondaryStatus", "CreationTime", "SecondaryStatusTransitions"} {
		delete(d, answered)
	}
	got, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/training_job.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.TrimSpace(string(want)) {
		t.Errorf("the request is\n%s", got)
	}
}

// The checker finds what SageMaker would refuse.
func TestShapesRefuse(t *testing.T) {
	o := operations["SageMaker.CreateTrainingJob"]
	for text, want := range map[string]string{
		`{}`: "it has no TrainingJobName",
		`{"TrainingJobName":"a_b","RoleArn":"r","OutputDataConfig":{},"ResourceConfig":{},"StoppingCondition":{}}`:                                          "OutputDataConfig: it has no S3OutputPath",
		`{"TrainingJobName":"a_b","RoleArn":"r","OutputDataConfig":0,"ResourceConfig":0,"StoppingCondition":0}`:                                             "OutputDataConfig: 0, want a structure",
		`{"RoleArn":"arn","TrainingJobName":"a","ResourceConfig":{},"StoppingCondition":{},"OutputDataConfig":{"S":1}}`:                                     "it has no S3OutputPath",
		`{"RoleArn":"arn:aws:iam::1:role/x","TrainingJobName":"a","OutputDataConfig":{"S3OutputPath":"s3://b"},"ResourceConfig":{},"StoppingCondition":{}}`: "does not match",
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := o.check(o.Input, "request", v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestSageMakerStatus(t *testing.T) {
	at := func(second int) *time.Time { return new(start.Add(time.Duration(second) * time.Second)) }
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	type described = sagemaker.DescribeTrainingJobOutput
	for name, c := range map[string]struct {
		job  described
		want Status // 100 seconds after it was made
	}{
		"waits for a machine": {described{TrainingJobStatus: "InProgress", SecondaryStatus: "Starting", SecondaryStatusTransitions: []types.SecondaryStatusTransition{{StatusMessage: aws.String("no capacity")}}},
			Status{State: Queued, Why: "Starting: no capacity", Queued: second(100)}},
		"trains":        {described{TrainingJobStatus: "InProgress", SecondaryStatus: "Training", TrainingStartTime: at(30)}, Status{State: Running, Queued: second(30), Ran: second(70)}},
		"interrupted":   {described{TrainingJobStatus: "InProgress", SecondaryStatus: "Interrupted", TrainingStartTime: at(30)}, Status{State: Queued, Why: "Interrupted", Queued: second(30), Ran: second(70)}},
		"being stopped": {described{TrainingJobStatus: "Stopping", SecondaryStatus: "Stopping", TrainingStartTime: at(30)}, Status{State: Running, Queued: second(30), Ran: second(70)}},
		"done, after an interruption, at a third of the price": {described{TrainingJobStatus: "Completed", SecondaryStatus: "Completed", TrainingStartTime: at(10), TrainingEndTime: at(90),
			TrainingTimeInSeconds: aws.Int32(60), BillableTimeInSeconds: aws.Int32(20)}, Status{State: Done, Queued: second(10 + 20), Ran: second(60), Billed: second(20)}},
		"exit 42":    {described{TrainingJobStatus: "Failed", FailureReason: aws.String("AlgorithmError: , exit code: 42"), TrainingStartTime: at(10), TrainingEndTime: at(20)}, Status{State: Failed, Exit: 42, Why: "AlgorithmError: , exit code: 42", Queued: second(10), Ran: second(10)}},
		"exit 75":    {described{TrainingJobStatus: "Failed", FailureReason: aws.String("AlgorithmError: exit code: 42 is what it says, exit code: 75")}, Status{State: Lost, Exit: 75, Why: "AlgorithmError: exit code: 42 is what it says, exit code: 75", Queued: second(100)}},
		"no machine": {described{TrainingJobStatus: "Failed", FailureReason: aws.String("CapacityError: Unable to provision")}, Status{State: Lost, Exit: -1, Why: "CapacityError: Unable to provision", Queued: second(100)}},
		"no image":   {described{TrainingJobStatus: "Failed", FailureReason: aws.String("ClientError: image, exit code: 42")}, Status{State: Failed, Exit: -1, Why: "ClientError: image, exit code: 42", Queued: second(100)}},
		"too long":   {described{TrainingJobStatus: "Stopped", SecondaryStatus: "MaxRuntimeExceeded", TrainingStartTime: at(10), TrainingEndTime: at(20)}, Status{State: Lost, Exit: -1, Why: "MaxRuntimeExceeded", Queued: second(10), Ran: second(10)}},
	} {
		c.job.TrainingJobArn, c.job.CreationTime = aws.String("arn"), at(0)
		c.want.Attempt, c.want.Identity = 2, "arn"
		if got := trainingStatus(2, &c.job, *at(100)); got != c.want {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}

// What a refusal of AWS means.
func TestSageMakerRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   rl.Kind
	}{
		{400, "AccessDeniedException", rl.Refused}, {400, "ResourceLimitExceeded", rl.Refused}, {403, "UnrecognizedClientException", rl.Refused},
		{400, "ValidationException", rl.Invalid}, {400, "ThrottlingException", rl.Unavailable}, {400, "ExpiredTokenException", rl.Unavailable}, {500, "InternalFailure", rl.Unavailable},
	} {
		g := aRegion(t)
		g.fail = func(operation string) (int, string, string) {
			if operation == "SageMaker.CreateTrainingJob" {
				return c.status, c.code, "no"
			}
			return 0, "", ""
		}
		if err := g.open(t).Ensure(t.Context(), aJob(t), 1); rl.KindOf(err) != c.want || !strings.Contains(err.Error(), c.code) {
			t.Errorf("%d %s: %q %v", c.status, c.code, rl.KindOf(err), err)
		}
	}
	if err := regionAt("http://127.0.0.1:1", someRegion).Ensure(t.Context(), aJob(t), 1); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("nobody there: %v", err)
	}
}

// An answer that is lost after the job was created: it is found, and not created again.
func TestSageMakerLostAnswer(t *testing.T) {
	g := aRegion(t)
	job, lost := aJob(t), false
	g.fail = func(operation string) (int, string, string) {
		if operation != "SageMaker.CreateTrainingJob" || lost {
			return 0, "", ""
		}
		lost = true
		g.create(attemptName(job, 1), map[string]any{"HyperParameters": map[string]any{specParameter: job.Key}})
		return 500, "InternalFailure", "no answer"
	}
	l := g.open(t)
	if err := l.Ensure(t.Context(), job, 1); rl.KindOf(err) != rl.Unavailable {
		t.Fatal(err)
	}
	g.mu.Lock()
	for key, value := range map[string]any{"AlgorithmSpecification": map[string]any{"TrainingInputMode": "File"}, "TrainingJobName": attemptName(job, 1), "StoppingCondition": map[string]any{},
		"ResourceConfig": map[string]any{"VolumeSizeInGB": 1.}} {
		g.jobs[attemptName(job, 1)][key] = value
	}
	g.mu.Unlock()
	ensure(t, l, job, 1)
	await(t, l, job, 1, Running)
	began(t, g, job, 1)
}

// The log of a job that was interrupted is that of all its machines, in their order and in full.
func TestSageMakerLogs(t *testing.T) {
	g := aRegion(t)
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	name := attemptName(job, 1)
	g.mu.Lock()
	g.logs = map[string][]string{name + "/algo-1-1700000009": {"d"}, name + "/algo-1-1700000000": {"a", "b", "c"}, name + "-r2/algo-1-1700000001": {"another attempt's"}, name + "/algo-1-1700000010": {}}
	g.mu.Unlock()
	r, err := l.Logs(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "a\nb\nc\nd\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestSageMakerCancelIsGivenUp(t *testing.T) {
	g := aRegion(t)
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	ctx, stop := context.WithCancel(t.Context())
	g.fail = func(operation string) (int, string, string) {
		if operation == "SageMaker.StopTrainingJob" {
			stop()
		}
		return 0, "", ""
	}
	if err := l.Cancel(ctx, job); rl.KindOf(err) != rl.Unavailable {
		t.Error(err)
	}
}
