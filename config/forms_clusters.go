package config

import "regexp"

// What Kubernetes and AWS call a name, a quantity or a list. A credential is never one of them.
var (
	clusterName  = matching("a name of Kubernetes: up to 253 of a-z 0-9 - . that start and end with a letter or a digit", `^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	memory       = matching("a quantity of memory, such as 64Gi", `^[0-9]+(\.[0-9]+)?(M|G|T|Mi|Gi|Ti)$`)
	nodeLabels   = matching("KEY=VALUE, with commas between, such as pool=a100", `^[A-Za-z0-9][A-Za-z0-9./_-]*=[A-Za-z0-9._-]*( *, *[A-Za-z0-9][A-Za-z0-9./_-]*=[A-Za-z0-9._-]*)*$`)
	tolerances   = matching("KEY[=VALUE][:EFFECT], with commas between, such as nvidia.com/gpu:NoSchedule", `^`+oneTolerance+`( *, *`+oneTolerance+`)*$`)
	image        = matching("a container image, such as registry/longhaul-trainer@sha256:...", `^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$`)
	awsRegion    = matching("a region of AWS, such as eu-central-1", `^[a-z]{2}(-[a-z]+)+-[0-9]$`)
	roleARN      = matching("the ARN of a role, such as arn:aws:iam::123456789012:role/trainer", `^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$`)
	instanceType = matching("an instance type of SageMaker, such as ml.g5.2xlarge", `^ml\.[a-z0-9-]+\.[a-z0-9]+$`)
	vpcIDs       = matching("identifiers, with commas between, such as subnet-0a1b2c", `^[a-z]+-[0-9a-z]+( *, *[a-z]+-[0-9a-z]+)*$`)
)

const oneTolerance = `[A-Za-z0-9][A-Za-z0-9./_-]*(=[A-Za-z0-9._-]*)?(:(NoSchedule|PreferNoSchedule|NoExecute))?`

// matching is the form of texts that match a pattern and hold no key.
func matching(expects, pattern string) form {
	p := regexp.MustCompile(pattern)
	return form{expects: expects, pattern: pattern, holds: func(s string) bool { return p.MatchString(s) && !keyPattern.MatchString(s) }}
}
