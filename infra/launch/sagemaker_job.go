package launch

import (
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// specParameter is the hyper-parameter that says which spec a training job is of. It is nothing that the trainer reads;
// unlike tags, a description has it.
const specParameter = "longhaul_spec"

// entrypoint is what the image is started with: SageMaker would else start it with the argument "train".
var entrypoint = []string{"python", "-m", "longhaul_trainer"}

// request asks for the n-th attempt's training job. Its owner is its name: SageMaker runs it in one place at a time.
func (r *region) request(job Job, n int) *sagemaker.CreateTrainingJobInput {
	c, name := r.config, attemptName(job, n)
	env := map[string]string{"LONGHAUL_OWNER": name, "LONGHAUL_ATTEMPT": strconv.Itoa(n)}
	maps.Copy(env, job.Env)
	// What SageMaker itself keeps of a job lies beside its spec. The trainer leaves nothing there: it begins at the base
	// checkpoint each time. But without a place for checkpoints, managed spot training ends after an hour.
	beside := strings.TrimSuffix(job.Spec, path.Base(job.Spec))
	limit := int32((r.timeout + overtime).Seconds())
	in := &sagemaker.CreateTrainingJobInput{
		TrainingJobName:        &name,
		RoleArn:                &c.Role,
		AlgorithmSpecification: &types.AlgorithmSpecification{TrainingImage: &c.Image, TrainingInputMode: types.TrainingInputModeFile, ContainerEntrypoint: entrypoint},
		Environment:            env,
		HyperParameters:        map[string]string{specParameter: job.Key},
		OutputDataConfig:       &types.OutputDataConfig{S3OutputPath: new(beside + "sagemaker")},
		CheckpointConfig:       &types.CheckpointConfig{S3Uri: new(beside + "sagemaker/checkpoints")},
		ResourceConfig:         &types.ResourceConfig{InstanceType: types.TrainingInstanceType(c.Instance), InstanceCount: new(int32(1)), VolumeSizeInGB: new(int32(c.VolumeGB))},
		StoppingCondition:      &types.StoppingCondition{MaxRuntimeInSeconds: &limit},
		Tags:                   []types.Tag{{Key: new("longhaul:run"), Value: new(string(job.Run))}, {Key: new("longhaul:update"), Value: new(strconv.Itoa(int(job.Update)))}},
	}
	if c.Spot == "yes" {
		in.EnableManagedSpotTraining = new(true)
		in.StoppingCondition.MaxWaitTimeInSeconds = new(2 * limit) // with what it waits for capacity
	}
	if subnets := items(c.Subnets); len(subnets) > 0 {
		in.VpcConfig = &types.VpcConfig{Subnets: subnets, SecurityGroupIds: items(c.SecurityGroups)}
	}
	return in
}
