package rl

// UpdateConfig is the update job and its optimiser.
type UpdateConfig struct {
	Use          string  `json:"use" doc:"embedded: the trainer in this process; local: a process of its own on this machine; kubernetes: a Job of a cluster; sagemaker: a training job of AWS; tinker: the service of policy.url"`
	LearningRate float64 `json:"learning_rate" doc:"AdamW step size"`
	Minibatches  int     `json:"minibatches" doc:"optimiser steps an update"`
	MaxGradNorm  float64 `json:"max_grad_norm" doc:"gradients are scaled down to this norm; 0: never"`
	Beta1        float64 `json:"beta1" doc:"AdamW, first moment"`
	Beta2        float64 `json:"beta2" doc:"AdamW, second moment"`
	WeightDecay  float64 `json:"weight_decay" doc:"AdamW, decoupled"`
	Ramp         int     `json:"ramp" doc:"updates over which the learning rate rises to its value"`
	FinalRate    float64 `json:"final_rate" doc:"the learning rate falls by (1 - final_rate)/updates of itself an update; 1: constant"`
	KLStop       float64 `json:"kl_stop" doc:"the rest of an update is skipped once a minibatch's KL to the behaviour policy (k3, nats a token) passes this; 0: never"`

	// A job of its own.
	Timeout    Duration         `json:"timeout,omitempty" doc:"jobs: wall clock that an attempt may have its machine; then the run is paused"`
	USDHour    float64          `json:"usd_hour,omitempty" doc:"jobs, tinker: price of an hour of the machines that an update has"`
	Local      LocalConfig      `json:"local,omitzero" doc:"update.use: local"`
	Kubernetes KubernetesConfig `json:"kubernetes,omitzero" doc:"update.use: kubernetes"`
	SageMaker  SageMakerConfig  `json:"sagemaker,omitzero" doc:"update.use: sagemaker"`

	Tinker TinkerConfig `json:"tinker,omitzero" doc:"update.use: tinker"`

	// The trainer in PyTorch (local, kubernetes, sagemaker); tinker has a rank too.
	LoRARank      int     `json:"lora_rank,omitempty" doc:"rank of the adapter that is trained in place of all weights"`
	LoRAAlpha     float64 `json:"lora_alpha,omitempty" doc:"the adapter counts lora_alpha / lora_rank times; 0: 2 x lora_rank"`
	Precision     string  `json:"precision,omitempty" doc:"float32, or bfloat16 for the passes through the model; weights that are trained are float32 always"`
	Checkpointing string  `json:"gradient_checkpointing,omitempty" doc:"on: activations are computed again on the way back, which takes a third more time and much less memory; or off"`
	Processes     int     `json:"processes,omitempty" doc:"processes on one machine, a GPU each, that the model is sharded over (FSDP2)"`
	RowTokens     int     `json:"row_tokens,omitempty" doc:"rows are packed into passes of so many tokens; a longer row is a pass of its own"`
}

// LocalConfig is update jobs as processes of this machine.
type LocalConfig struct {
	Python string `json:"python,omitempty" doc:"the interpreter that has longhaul_trainer: a path, or a name that PATH finds"`
}

// TinkerConfig is updates in a Tinker service, policy.url.
type TinkerConfig struct {
	Reduces string `json:"reduces,omitempty" doc:"how the service makes a loss of its tokens': sequence_mean, the mean over rows of each row's mean (SkyRL), or sum"`
}
