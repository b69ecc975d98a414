package adapter

import "testing"

// Whatever another program wrote as an adapter's configuration, it is refused, or says by how much the adapter counts.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{`{"peft_type":"LORA","r":8,"lora_alpha":16}`, `{"peft_type":"LORA","r":8,"lora_alpha":16,"use_rslora":true,"bias":"none","init_lora_weights":"pissa_niter_4"}`,
		`{"peft_type":"LORA","r":0,"lora_alpha":1}`, `{"peft_type":"LORA","r":1,"lora_alpha":null}`, `{"peft_type":"IA3"}`, `[]`, `{"r":1e99}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := decodeConfig(b); err == nil {
			if s := c.scale(); s != s || c.Kind != "LORA" {
				t.Errorf("%+v counts %v", c, s)
			}
		}
	})
}
