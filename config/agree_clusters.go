package config

import (
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// fitClusters fills in what a job elsewhere is given unless the file says otherwise.
func fitClusters(u *rl.UpdateConfig, given func(path string) bool) {
	switch u.Use {
	case "kubernetes":
		if !given("update.kubernetes.keep") {
			u.Kubernetes.Keep = rl.Duration(24 * time.Hour)
		}
	case "sagemaker":
		if !given("update.sagemaker.volume_gb") {
			u.SageMaker.VolumeGB = 100
		}
		if !given("update.sagemaker.spot") {
			u.SageMaker.Spot = "yes"
		}
	}
}

func kubernetesAlone(c rl.Config) (wrong, bool) {
	return disagree("update.kubernetes", "no such key without use: kubernetes", "", "update.kubernetes", "update.use"),
		c.Update.Use == "kubernetes" || c.Update.Kubernetes == rl.KubernetesConfig{}
}

func kubernetesImage(c rl.Config) (wrong, bool) {
	return disagree("no update.kubernetes.image", "the image that the job runs", "infra/deploy/trainer.Dockerfile makes one", "update.kubernetes.image", "update.kubernetes", "update.use"),
		c.Update.Use != "kubernetes" || c.Update.Kubernetes.Image != ""
}

func kubernetesGPUs(c rl.Config) (wrong, bool) {
	n := c.Update.Kubernetes.GPUs
	return disagree(fmt.Sprint(c.Update.Processes), fmt.Sprintf("at most update.kubernetes.gpus, %d", n), "each process has a GPU", "update.processes", "update.kubernetes.gpus"),
		n == 0 || c.Update.Processes <= n
}

func sagemakerAlone(c rl.Config) (wrong, bool) {
	return disagree("update.sagemaker", "no such key without use: sagemaker", "", "update.sagemaker", "update.use"),
		c.Update.Use == "sagemaker" || c.Update.SageMaker == rl.SageMakerConfig{}
}

func sagemakerNeeds(c rl.Config) (wrong, bool) {
	s := c.Update.SageMaker
	for _, k := range []struct{ key, value, what string }{
		{"region", s.Region, "the AWS region of the jobs"}, {"role", s.Role, "the role that a job has"}, {"image", s.Image, "the image that the job runs"}, {"instance", s.Instance, "an instance type"},
	} {
		if c.Update.Use == "sagemaker" && k.value == "" {
			return disagree("no update.sagemaker."+k.key, k.what, "", "update.sagemaker."+k.key, "update.sagemaker", "update.use"), false
		}
	}
	return wrong{}, true
}

func sagemakerVPC(c rl.Config) (wrong, bool) {
	s := c.Update.SageMaker
	return disagree("one without the other", "both update.sagemaker.subnets and update.sagemaker.security_groups, or neither", "", "update.sagemaker.subnets", "update.sagemaker.security_groups", "update.sagemaker"),
		(s.Subnets == "") == (s.SecurityGroups == "")
}
