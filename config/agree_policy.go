package config

import "github.com/longhaul-rl/longhaul/rl"

// fitServed fills in how a served policy is published.
func fitServed(p *rl.PolicyConfig, given func(path string) bool) {
	if p.Use != "openai" {
		return
	}
	if !given("policy.publish") {
		p.Publish = "none"
	}
	if !given("policy.share_gpu") {
		p.ShareGPU = "no"
	}
}

func policyServer(c rl.Config) (wrong, bool) {
	if c.Policy.Use == "tiny" {
		return wrong{}, true
	}
	if c.Policy.URL == "" {
		return disagree("no policy.url", "the server's base URL, such as http://gpu:8000/v1", "", "policy.url", "policy.use"), false
	}
	return disagree("no policy.model", "the server's name of the model", "", "policy.model", "policy.use"), c.Policy.Model != ""
}

func tinyAlone(c rl.Config) (wrong, bool) {
	p := c.Policy
	for _, d := range []struct{ key, value string }{{"url", p.URL}, {"model", p.Model}, {"api_key_env", p.APIKeyEnv}, {"base", p.Base}} {
		if p.Use == "tiny" && d.value != "" {
			return disagree("policy."+d.key, "no such key with use: tiny", "tiny runs in this process", "policy."+d.key, "policy.use"), false
		}
	}
	return wrong{}, true
}

func openaiAlone(c rl.Config) (wrong, bool) {
	p := c.Policy
	for _, d := range []struct{ key, value string }{{"publish", p.Publish}, {"adapters", p.Adapters}, {"restart", p.Restart}, {"share_gpu", p.ShareGPU}} {
		if p.Use != "openai" && d.value != "" {
			return disagree("policy."+d.key, "no such key with use: "+p.Use, "only servers of the OpenAI API are told of versions", "policy."+d.key, "policy.use"), false
		}
	}
	return wrong{}, true
}

// published holds what a way of publishing needs against what is there.
func published(c rl.Config) (wrong, bool) {
	p := c.Policy
	for _, k := range []struct {
		key, value, what string
		by               func(publish string) bool
	}{
		{"adapters", p.Adapters, "a directory that workers and servers share", func(how string) bool { return how == "lora" || how == "restart" }},
		{"restart", p.Restart, "the command that has the servers serve another model", func(how string) bool { return how == "restart" }},
	} {
		if k.by(p.Publish) && k.value == "" {
			return disagree("no policy."+k.key, k.what+", with publish: "+p.Publish, "", "policy."+k.key, "policy.publish"), false
		}
		if !k.by(p.Publish) && k.value != "" {
			return disagree("policy."+k.key, "no such key with publish: "+p.Publish, "", "policy."+k.key, "policy.publish"), false
		}
	}
	return wrong{}, true
}
