package launch

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttest "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/longhaul-rl/longhaul/rl"
)

// A pod that the cluster takes away is replaced within the attempt; one that ends with 42 ends the job.
func TestKubernetesPreemption(t *testing.T) {
	g := aCluster(t)
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	began(t, g, job, 1)
	await(t, l, job, 1, Running)
	g.node.tell(t, job, podEnding{exit: ExitPreempted, disrupted: true}) // the controller waits some seconds with the next, longer each time
	began(t, g, job, 2)
	await(t, l, job, 1, Running)
	g.end(t, job, ExitPermanent)
	if s := await(t, l, job, 1, Failed); s.Exit != ExitPermanent || s.Why == "" {
		t.Errorf("after exit 42: %+v", s)
	}
	began(t, g, job, 2)
}

// What ends with 42 while it is taken away would end so again.
func TestKubernetesPermanentWhilePreempted(t *testing.T) {
	g := aCluster(t)
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	await(t, l, job, 1, Running)
	g.node.tell(t, job, podEnding{exit: ExitPermanent, disrupted: true})
	await(t, l, job, 1, Failed)
	began(t, g, job, 1)
}

// Cancel returns when no pod is left, and leaves other jobs alone.
func TestKubernetesCancel(t *testing.T) {
	g := aCluster(t)
	l, job, other := g.open(t), aJob(t), aJob(t)
	other.Spec += "-other"
	ensure(t, l, job, 1)
	ensure(t, l, other, 1)
	await(t, l, job, 1, Running)
	await(t, l, other, 1, Running)
	if err := l.Cancel(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	pods, err := g.client.CoreV1().Pods(g.node.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name()})
	if err != nil || len(pods.Items) != 0 {
		t.Errorf("%d pods are left, %v", len(pods.Items), err)
	}
	if s, err := l.Poll(t.Context(), job); err != nil || s.State != Absent {
		t.Errorf("cancelled it is %+v, %v", s, err)
	}
	await(t, l, other, 1, Running)
}

// A worker that saw the first attempt end, and comes late with removing it, does not remove the second.
func TestKubernetesLateRemoval(t *testing.T) {
	g := aCluster(t)
	l, job := g.with(t, rl.KubernetesConfig{Image: "registry/trainer:1"}), aJob(t)
	ensure(t, l, job, 1)
	await(t, l, job, 1, Running)
	g.end(t, job, ExitRetry)
	await(t, l, job, 1, Lost)
	old, err := l.get(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, l, job, 2)
	await(t, l, job, 2, Running)
	if err := l.remove(t.Context(), job, old); err != nil {
		t.Error(err)
	}
	await(t, l, job, 2, Running)
	began(t, g, job, 2)
	g.end(t, job, ExitDone)
	await(t, l, job, 2, Done)
}

// A worker that is told to stop leaves off waiting, and says what it waited for.
func TestKubernetesCancelIsGivenUp(t *testing.T) {
	g := fakeCluster(t)
	l, job := g.open(t), aJob(t)
	ensure(t, l, job, 1)
	await(t, l, job, 1, Running)
	g.node.away.Store(true)
	ctx, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	if err := l.Cancel(ctx, job); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "its pods are not gone yet") {
		t.Error(err)
	}
	await(t, l, job, 1, Running)
	g.node.away.Store(false)
	await(t, l, job, 0, Absent)
}

var everything = rl.KubernetesConfig{
	Image: "registry/trainer@sha256:00", Queue: "gpus", GPUs: 4, CPUs: 7.5, Memory: "64Gi", NodeSelector: "pool=a100, zone=b", ServiceAccount: "trainer",
	Tolerations: "nvidia.com/gpu:NoSchedule, spot=true", Secret: "store", Keep: rl.Duration(24 * time.Hour),
	Template: "metadata: {labels: {team: rl}}\nspec:\n  parallelism: 1\n  template:\n    spec:\n      priorityClassName: low\n      containers:\n" +
		"      - {name: watcher, image: w}\n      - name: trainer\n        image: mine\n        env: [{name: NCCL_DEBUG, value: INFO}]\n        resources: {limits: {ephemeral-storage: 100Gi}}\n",
}

// The whole Job, with everything that can be said of it, is testdata/job.yaml.
func TestKubernetesManifest(t *testing.T) {
	g := fakeCluster(t)
	job := Job{Run: "orders-1", Update: 7, Key: strings.Repeat("ab", 32), Spec: "s3://bucket/p/jobs/abab/spec.json",
		Env: map[string]string{"LONGHAUL_SPEC_URI": "s3://bucket/p/jobs/abab/spec.json", "AWS_REGION": "eu-central-1"}}
	j, err := g.with(t, everything).manifest(job, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the Job is\n%s", got)
	}
}

// What a template says of attempts is not taken: two pods of one Job would take each other's claim, a finalizer would keep what is
// cancelled for ever.
func TestKubernetesTemplateDecidesNothing(t *testing.T) {
	plain, job := rl.KubernetesConfig{Image: "i", Template: "spec: {template: {spec: {containers: [{name: trainer}]}}}"}, aJob(t)
	meddling := plain
	meddling.Template = `
metadata: {name: mine, generateName: m, namespace: other, finalizers: [example.com/stay], resourceVersion: "7", annotations: {longhaul/spec: x}}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  backoffLimitPerIndex: 3
  maxFailedIndexes: 1
  backoffLimit: 6
  activeDeadlineSeconds: 1
  manualSelector: true
  selector: {matchLabels: {a: b}}
  podReplacementPolicy: TerminatingOrFailed
  podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]}
  successPolicy: {rules: [{succeededCount: 1}]}
  template:
    spec:
      restartPolicy: OnFailure
      activeDeadlineSeconds: 1
      containers: [{name: trainer, env: [{name: LONGHAUL_ATTEMPT, value: "9"}, {name: LONGHAUL_SPEC_URI, value: s3://other}, {name: LONGHAUL_OWNER, value: me}]}]
status: {succeeded: 1}
`
	g, of := fakeCluster(t), map[string]string{}
	for name, c := range map[string]rl.KubernetesConfig{"plain": plain, "meddling": meddling} {
		j, err := g.with(t, c).manifest(job, 2)
		if err != nil {
			t.Fatal(err)
		}
		b, err := yaml.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		of[name] = string(b)
	}
	if of["plain"] != of["meddling"] {
		t.Errorf("without:\n%s\nwith:\n%s", of["plain"], of["meddling"])
	}
}

func TestKubernetesTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Deployment\napiVersion: apps/v1": `update.kubernetes.template: it is a apps/v1 Deployment, not a batch/v1 Job`,
		"spec: {tempalte: {}}":                  `unknown field "tempalte"`,
		"a: [":                                  `it is not a batch/v1 Job`,
	} {
		if _, err := parseTemplate(text); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := fakeCluster(t).with(t, rl.KubernetesConfig{Memory: "much"}).manifest(aJob(t), 1); rl.KindOf(err) != rl.Invalid {
		t.Error(err)
	}
}

// What a refusal of the API server means.
func TestKubernetesRefusals(t *testing.T) {
	jobs := jobsResource.GroupResource()
	for _, c := range []struct {
		err  error
		want rl.Kind
	}{
		{apierrors.NewForbidden(jobs, "a", nil), rl.Refused}, // also what a quota says
		{apierrors.NewUnauthorized("who?"), rl.Refused},
		{apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "a", nil), rl.Invalid},
		{apierrors.NewNotFound(corev1.Resource("namespaces"), "rl"), rl.Invalid},
		{apierrors.NewServiceUnavailable("later"), rl.Unavailable},
		{apierrors.NewTooManyRequests("later", 7), rl.Unavailable},
		{apierrors.NewInternalError(context.DeadlineExceeded), rl.Unavailable},
		{context.DeadlineExceeded, rl.Unavailable},
	} {
		client := fake.NewSimpleClientset()
		client.PrependReactor("create", "jobs", func(clienttest.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		g := &kubernetesGround{client: client, node: &kubelet{namespace: "rl"}}
		err := g.open(t).Ensure(t.Context(), aJob(t), 1)
		if rl.KindOf(err) != c.want {
			t.Errorf("%v: kind %q, want %q", c.err, rl.KindOf(err), c.want)
		}
		if apierrors.IsTooManyRequests(c.err) && err.(*rl.Error).RetryAfter != 7*time.Second {
			t.Errorf("wait %v", err.(*rl.Error).RetryAfter)
		}
	}
}
