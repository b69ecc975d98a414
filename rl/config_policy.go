package rl

// PolicyConfig is who acts: the embedded policy and its shape, or a server and its model.
type PolicyConfig struct {
	Use         string `json:"use" doc:"tiny: the embedded policy; openai: servers of the OpenAI API; tinker: a service of the Tinker API, which trains it, too"`
	URL         string `json:"url,omitempty" doc:"base URL of the server, with /v1 (of a Tinker service without); of several servers of the same model, separated by commas"`
	Model       string `json:"model,omitempty" doc:"the server's name of the base model"`
	APIKeyEnv   string `json:"api_key_env,omitempty" doc:"environment variable that holds the key"`
	Base        string `json:"base,omitempty" doc:"the model that training starts from: its Hugging Face directory, or s3://bucket/prefix"`
	Publish     string `json:"publish,omitempty" doc:"openai: how a new version gets to the servers: lora, loaded by vLLM while it serves; restart, by a command; or none, they find it in the store"`
	Adapters    string `json:"adapters,omitempty" doc:"publish: lora or restart: directory that workers and servers see under the same path; versions are put there"`
	Restart     string `json:"restart,omitempty" doc:"publish: restart: command that has the servers serve the model in LONGHAUL_MODEL_DIR under the name LONGHAUL_VERSION; it returns at once"`
	ShareGPU    string `json:"share_gpu,omitempty" doc:"openai: what the servers do while an update job has their GPU: no, nothing; pause, idle; sleep, give its memory back"`
	Concurrency int    `json:"concurrency" doc:"live episodes at once in one worker; 0: 64 a thread for tiny, 256 for openai"`
	Width       int    `json:"width,omitempty" doc:"tiny: model width, a multiple of 32"`
	Layers      int    `json:"layers,omitempty" doc:"tiny: decoder layers"`
	Hidden      int    `json:"hidden,omitempty" doc:"tiny: feed-forward width"`
	Context     int    `json:"context,omitempty" doc:"tiny: context, in tokens"`
}
