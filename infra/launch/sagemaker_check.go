package launch

import (
	"context"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/longhaul-rl/longhaul/rl"
)

// ecrPattern finds the region of an image of ECR.
var ecrPattern = regexp.MustCompile(`^[0-9]{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.`)

// Check asks AWS who the launcher is and whether it may see training jobs and their logs. AWS has no way to ask for a job
// on trial: whether the role may be passed, the image be pulled and the quota suffice shows with the first job.
func (r *region) Check(ctx context.Context) []Finding {
	who, err := r.identity.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return []Finding{{Name: "sagemaker", Err: r.failure(sample, err), Mend: "give AWS credentials as its SDK finds them (AWS_PROFILE, AWS_ACCESS_KEY_ID, an instance's role); is update.sagemaker.region right?"}}
	}
	found := []Finding{{Name: "sagemaker", Found: "the caller is " + value(who.Arn)}}
	if account := value(who.Account); !strings.Contains(r.config.Role, ":"+account+":") {
		found = append(found, Finding{Name: "sagemaker role", Err: rl.Errorf(rl.Invalid, "sagemaker role", "%s is not of account %s, and cannot be passed from it", r.config.Role, account), Mend: "name a role of the caller's account in update.sagemaker.role"})
	}
	if m := ecrPattern.FindStringSubmatch(r.config.Image); m != nil && m[1] != r.config.Region {
		found = append(found, Finding{Name: "sagemaker image", Err: rl.Errorf(rl.Invalid, "sagemaker image", "it is in %s, and the jobs in %s", m[1], r.config.Region), Mend: "push it to the registry of the jobs' region"})
	}
	jobs := Finding{Name: "sagemaker training jobs", Found: "they can be seen in " + r.config.Region, Mend: "give the caller the policy of docs/gpu.md"}
	_, err = r.jobs.ListTrainingJobs(ctx, &sagemaker.ListTrainingJobsInput{MaxResults: new(int32(1))})
	jobs.Err = r.failure(sample, err)
	logs := Finding{Name: "sagemaker logs", Found: "they can be read", Mend: "give the caller logs:DescribeLogStreams and logs:GetLogEvents on " + logGroup}
	if _, err = r.streams(ctx, "lh-doctor/"); code(err) != "ResourceNotFoundException" { // that is before the first job
		logs.Err = r.failure(sample, err)
	}
	return append(found, jobs, logs)
}
