package launch

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever a user wrote as a Job's template, it is refused, or gives a Job that is ours: one pod, tried once, with the trainer in it.
func TestAnyTemplate(t *testing.T) {
	line := rapid.OneOf(rapid.SampledFrom([]string{
		"spec:", "  template:", "    spec:", "      containers:", "      - name: trainer", "        resources: {limits: {memory: 8Gi}}", "kind: Pod", "kind: Job",
		"spec: {parallelism: 4, completions: 4, backoffLimit: 9}", "metadata: {labels: {longhaul/run: mine}}", "  backoffLimit: 3", "  suspend: true",
		"spec: {template: {spec: {initContainers: [{name: a}], restartPolicy: Always}}}", "a: &a [*a]", "spec: {template: null}", "---", "\t", "apiVersion: batch/v1",
	}), rapid.String())
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		template, err := parseTemplate(strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n"))
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Fatal(err)
			}
			return
		}
		read++
		k := &cluster{namespace: "jobs", config: rl.KubernetesConfig{Image: "trainer:1"}, template: template}
		j, err := k.manifest(Job{Run: "orders-1", Update: 3, Key: "ab", Spec: "s3://runs/jobs/ab/spec.json"}, 1)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Fatal(err)
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
			t.Fatalf("%+v", j)
		}
	})
	if read == 0 {
		t.Error("every template was refused")
	}
}
