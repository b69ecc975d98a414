package rl

// KubernetesConfig is update jobs as batch/v1 Jobs of a cluster. Credentials are not in it: the client's are those of the
// kubeconfig or of the pod that the worker runs in, the job's come from a Secret or a service account of the cluster.
type KubernetesConfig struct {
	Image          string   `json:"image,omitempty" doc:"what the job runs: an image with longhaul_trainer, best by its digest"`
	Namespace      string   `json:"namespace,omitempty" doc:"where its Jobs are; empty: the context's, or the worker's own"`
	Context        string   `json:"context,omitempty" doc:"of the kubeconfig (KUBECONFIG, else ~/.kube/config); empty: the current one, or the cluster that the worker runs in"`
	Queue          string   `json:"queue,omitempty" doc:"Kueue's local queue that admits them"`
	GPUs           int      `json:"gpus,omitempty" doc:"nvidia.com/gpu of one node; 0: none is asked for"`
	CPUs           float64  `json:"cpus,omitempty" doc:"processors that are asked for; 0: none are"`
	Memory         string   `json:"memory,omitempty" doc:"memory that is asked for, and not passed, such as 64Gi"`
	NodeSelector   string   `json:"node_selector,omitempty" doc:"labels that the node must have: KEY=VALUE, with commas between"`
	Tolerations    string   `json:"tolerations,omitempty" doc:"taints that it may have: KEY[=VALUE][:EFFECT], with commas between"`
	ServiceAccount string   `json:"service_account,omitempty" doc:"the pod's; it may be what gives access to the store"`
	Secret         string   `json:"secret,omitempty" doc:"a Secret whose keys become environment variables, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"`
	Keep           Duration `json:"keep,omitempty" doc:"how long an ended Job stays in the cluster"`
	Template       string   `json:"template,omitempty" doc:"a batch/v1 Job in YAML that all of this is laid over; @FILE: read from a file"`
}
