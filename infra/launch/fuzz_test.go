package launch

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever a user wrote as a Job's template, it is refused, or gives a Job that is ours: one pod, tried once, with the trainer in it.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "spec:\n  template:\n    spec:\n      containers:\n      - name: trainer\n        resources: {limits: {memory: 8Gi}}\n", "kind: Pod", "spec: {parallelism: 4, completions: 4, backoffLimit: 9}",
		"metadata: {labels: {longhaul/run: mine}}\nspec: {template: {spec: {initContainers: [{name: a}], restartPolicy: Always}}}", "a: &a [*a]", "spec: {template: null}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := parseTemplate(text)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Error(err)
			}
			return
		}
		k := &cluster{namespace: "jobs", config: rl.KubernetesConfig{Image: "trainer:1"}, template: template}
		j, err := k.manifest(Job{Run: "orders-1", Update: 3, Key: "ab", Spec: "s3://runs/jobs/ab/spec.json"}, 1)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Error(err)
			}
			return
		}
		ours := 0
		for _, c := range j.Spec.Template.Spec.Containers {
			if c.Name == trainer {
				ours++
			}
		}
		if ours == 0 || *j.Spec.BackoffLimit != 0 || j.Labels["longhaul/run"] != "orders-1" || j.Spec.Parallelism != nil && *j.Spec.Parallelism != 1 {
			t.Errorf("%+v", j)
		}
	})
}
