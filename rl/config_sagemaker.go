package rl

// SageMakerConfig is update jobs as training jobs of Amazon SageMaker. Credentials are not in it: the client's are what
// the AWS SDK finds, the job's are its role's.
type SageMakerConfig struct {
	Region         string `json:"region,omitempty" doc:"AWS region of the jobs, the image and the store"`
	Role           string `json:"role,omitempty" doc:"ARN of the role that a job has: it reads and writes the store, and pulls the image"`
	Image          string `json:"image,omitempty" doc:"what the job runs: an image of ECR with longhaul_trainer, best by its digest"`
	Instance       string `json:"instance,omitempty" doc:"instance type, such as ml.g5.2xlarge"`
	VolumeGB       int    `json:"volume_gb,omitempty" doc:"disk of the instance, in GB"`
	Spot           string `json:"spot,omitempty" doc:"yes: spare capacity, cheaper and pre-empted at times; or no"`
	Subnets        string `json:"subnets,omitempty" doc:"of the VPC that the job is in, with commas between; empty: none"`
	SecurityGroups string `json:"security_groups,omitempty" doc:"with commas between; needed with subnets"`
}
