package launch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { grounds["sagemaker"] = func(t *testing.T) ground { return aRegion(t) } }

// regionGround is SageMaker and CloudWatch as far as a launcher sees them. Every request and every answer is held against
// AWS's own models. What moto lacks it has: names are taken for ever, jobs can be stopped, are interrupted, and fail with
// a reason.
type regionGround struct {
	url string

	mu   sync.Mutex
	jobs map[string]map[string]any // DescribeTrainingJob's answers, by name
	logs map[string][]string       // lines by stream
	left map[string]int            // looks until a job that is being stopped has stopped
	fail func(operation string) (status int, code, message string)
}

func aRegion(t *testing.T) *regionGround {
	g := &regionGround{jobs: map[string]map[string]any{}, logs: map[string][]string{}, left: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(t, w, r) }))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// someRegion is a whole configuration.
var someRegion = rl.SageMakerConfig{Region: "eu-central-1", Role: "arn:aws:iam::123456789012:role/trainer", Image: "123456789012.dkr.ecr.eu-central-1.amazonaws.com/trainer:1",
	Instance: "ml.g5.2xlarge", VolumeGB: 100, Spot: "yes", Subnets: "subnet-1, subnet-2", SecurityGroups: "sg-1"}

func (g *regionGround) open(t *testing.T) Launcher { return regionAt(g.url, someRegion) }

// regionAt is a launcher whose AWS is at a URL.
func regionAt(url string, c rl.SageMakerConfig) *region {
	cfg := aws.Config{Region: c.Region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("access", "secret", ""), RetryMaxAttempts: 1}
	r := newRegion(cfg, c, time.Hour)
	r.confirmEvery = time.Millisecond
	return r
}

func (g *regionGround) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("X-Amz-Target")
	if name == "" && r.FormValue("Action") == "GetCallerIdentity" { // STS alone still speaks XML
		fmt.Fprint(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/somebody</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>")
		return
	}
	o, known := operations[name]
	var in map[string]any
	err := json.NewDecoder(r.Body).Decode(&in)
	if !known || err != nil {
		t.Errorf("request %q: %v", name, err)
	} else if err := o.check(o.Input, name, in); err != nil {
		t.Error(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if g.fail != nil {
		if status, code, message := g.fail(name); status != 0 {
			refuse(w, status, code, message)
			return
		}
	}
	out, code, message := g.answer(name, in)
	if code != "" {
		refuse(w, http.StatusBadRequest, code, message)
		return
	}
	if o.Output != "" {
		if err := o.check(o.Output, name+"'s answer", out); err != nil {
			t.Error(err)
		}
	}
	json.NewEncoder(w).Encode(out)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}

func (g *regionGround) answer(operation string, in map[string]any) (out map[string]any, code, message string) {
	name, _ := in["TrainingJobName"].(string)
	d := g.jobs[name]
	switch operation {
	case "SageMaker.CreateTrainingJob":
		if d != nil {
			return nil, "ResourceInUse", "Training job names must be unique within an AWS account and region"
		}
		g.create(name, in)
		return map[string]any{"TrainingJobArn": g.jobs[name]["TrainingJobArn"]}, "", ""
	case "SageMaker.ListTrainingJobs":
		return map[string]any{"TrainingJobSummaries": []any{}}, "", ""
	case "Logs_20140328.DescribeLogStreams", "Logs_20140328.GetLogEvents":
		return g.read(in)
	}
	if d == nil {
		return nil, "ValidationException", "Requested resource not found."
	}
	if operation == "SageMaker.DescribeTrainingJob" {
		g.proceed(name, d)
		return d, "", ""
	}
	if d["TrainingJobStatus"] != "InProgress" {
		return nil, "ValidationException", "The request was rejected because the training job is in status " + d["TrainingJobStatus"].(string)
	}
	d["TrainingJobStatus"], d["SecondaryStatus"], g.left[name] = "Stopping", "Stopping", 3
	return map[string]any{}, "", ""
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (g *regionGround) create(name string, in map[string]any) {
	d := map[string]any{"TrainingJobArn": "arn:aws:sagemaker:eu-central-1:123456789012:training-job/" + name, "ModelArtifacts": map[string]any{"S3ModelArtifacts": "s3://bucket/model.tar.gz"},
		"TrainingJobStatus": "InProgress", "SecondaryStatus": "Starting", "CreationTime": seconds(time.Now()),
		"SecondaryStatusTransitions": []any{map[string]any{"Status": "Starting", "StartTime": seconds(time.Now()), "StatusMessage": "Insufficient capacity, trying again"}}}
	for key, value := range in {
		if key != "Tags" {
			d[key] = value
		}
	}
	g.jobs[name] = d
	g.logs[name+"/algo-1-1700000000"] = []string{"at work"}
}

// proceed is what time does: each look at a job finds it one step on.
func (g *regionGround) proceed(name string, d map[string]any) {
	switch {
	case d["SecondaryStatus"] == "Starting":
		d["SecondaryStatus"], d["TrainingStartTime"] = "Training", seconds(time.Now())
	case g.left[name] > 0:
		g.left[name]--
	case d["TrainingJobStatus"] == "Stopping":
		d["TrainingJobStatus"], d["SecondaryStatus"], d["TrainingEndTime"] = "Stopped", "Stopped", seconds(time.Now())
	}
}

// read answers CloudWatch: two lines a page.
func (g *regionGround) read(in map[string]any) (out map[string]any, code, message string) {
	if in["logGroupName"] != logGroup || len(g.logs) == 0 {
		return nil, "ResourceNotFoundException", "The specified log group does not exist."
	}
	if prefix, list := in["logStreamNamePrefix"].(string); list {
		streams := []any{}
		for name := range g.logs {
			if strings.HasPrefix(name, prefix) {
				streams = append(streams, map[string]any{"logStreamName": name})
			}
		}
		return map[string]any{"logStreams": streams}, "", ""
	}
	lines, first := g.logs[in["logStreamName"].(string)], 0
	if token, ok := in["nextToken"].(string); ok {
		fmt.Sscanf(token, "f/%d", &first)
	}
	events, next := []any{}, min(first+2, len(lines))
	for _, line := range lines[first:next] {
		events = append(events, map[string]any{"message": line, "timestamp": 1.7e12})
	}
	return map[string]any{"events": events, "nextForwardToken": fmt.Sprintf("f/%d", next), "nextBackwardToken": "b/0"}, "", ""
}

// last is the newest attempt's name and description.
func (g *regionGround) last(job Job) (name string, d map[string]any) {
	for n := 1; g.jobs[attemptName(job, n)] != nil; n++ {
		name, d = attemptName(job, n), g.jobs[attemptName(job, n)]
	}
	return name, d
}

func (g *regionGround) end(_ *testing.T, job Job, exit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, d := g.last(job)
	g.logs[name+"/algo-1-1700000000"] = append(g.logs[name+"/algo-1-1700000000"], "a line", "ending")
	d["TrainingEndTime"] = seconds(time.Now())
	switch {
	case exit == 0:
		d["TrainingJobStatus"], d["SecondaryStatus"] = "Completed", "Completed"
	case exit < 0:
		d["TrainingJobStatus"], d["SecondaryStatus"], d["FailureReason"] = "Failed", "Failed", "InternalServerError: We encountered an internal error. Please try again."
	default:
		d["TrainingJobStatus"], d["SecondaryStatus"], d["FailureReason"] = "Failed", "Failed", fmt.Sprintf("AlgorithmError: , exit code: %d", exit)
	}
}

func (g *regionGround) starts(_ *testing.T, job Job) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for g.jobs[attemptName(job, n+1)] != nil {
		n++
	}
	return n
}
