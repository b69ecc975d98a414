package launch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/longhaul-rl/longhaul/rl"
)

// trainer is the name of the job's container; a template's container of that name is what ours is laid over.
const trainer = "trainer"

const (
	queueLabel = "kueue.x-k8s.io/queue-name"
	gpu        = corev1.ResourceName("nvidia.com/gpu")
)

// parseTemplate reads a Job that a user has written; an empty one is an empty Job.
func parseTemplate(text string) (*batchv1.Job, error) {
	j := &batchv1.Job{}
	if err := yaml.UnmarshalStrict([]byte(text), j); err != nil {
		return nil, rl.Errorf(rl.Invalid, "update.kubernetes.template", "it is not a batch/v1 Job: %w", err)
	}
	if kind := cmp.Or(j.APIVersion, "batch/v1") + " " + cmp.Or(j.Kind, "Job"); kind != "batch/v1 Job" {
		return nil, rl.Errorf(rl.Invalid, "update.kubernetes.template", "it is a %s, not a batch/v1 Job", kind)
	}
	return j, nil
}

// manifest is the Job of an attempt: ours, laid over the template. Whatever decides about attempts is always ours: how many pods there
// are and when they count as done, whose the Job is, what its removal waits for. So of a template's Job no more is taken than is
// named here, and all of its pod.
func (k *cluster) manifest(job Job, attempt int) (*batchv1.Job, error) {
	from := k.template.DeepCopy()
	j := &batchv1.Job{
		TypeMeta:   from.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: job.Name(), Namespace: k.namespace, Labels: from.Labels, Annotations: from.Annotations, OwnerReferences: from.OwnerReferences},
		Spec: batchv1.JobSpec{
			Template: from.Spec.Template, Suspend: from.Spec.Suspend, ManagedBy: from.Spec.ManagedBy, TTLSecondsAfterFinished: from.Spec.TTLSecondsAfterFinished,
		},
	}
	j.Annotations = with(j.Annotations, map[string]string{specAnnotation: job.Key, attemptAnnotation: strconv.Itoa(attempt), "longhaul/spec-uri": job.Spec})
	labels := map[string]string{"app.kubernetes.io/name": "longhaul-trainer", "longhaul/run": strings.TrimRight(string(job.Run), "._-"), "longhaul/update": strconv.Itoa(int(job.Update))}
	j.Labels, j.Spec.Template.Labels = with(j.Labels, labels), with(j.Spec.Template.Labels, labels)
	if k.config.Queue != "" {
		j.Labels[queueLabel] = k.config.Queue
	}
	s := &j.Spec
	s.BackoffLimit, s.PodReplacementPolicy = new(int32(0)), new(batchv1.Failed) // never two pods at once
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new(trainer), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{ExitPermanent}}},
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
	}}
	if k.config.Keep != 0 {
		s.TTLSecondsAfterFinished = new(int32(time.Duration(k.config.Keep).Seconds()))
	}
	return j, k.pod(&s.Template.Spec, job, attempt)
}

// pod lays ours over a template's pod.
func (k *cluster) pod(p *corev1.PodSpec, job Job, attempt int) error {
	c := k.config
	p.RestartPolicy = corev1.RestartPolicyNever
	if k.timeout > 0 {
		p.ActiveDeadlineSeconds = new(int64((k.timeout + overtime).Seconds()))
	}
	p.ServiceAccountName = cmp.Or(c.ServiceAccount, p.ServiceAccountName)
	if p.AutomountServiceAccountToken == nil { // the trainer does not speak to the cluster
		p.AutomountServiceAccountToken = new(false)
	}
	for name, value := range pairs(c.NodeSelector) {
		p.NodeSelector = with(p.NodeSelector, map[string]string{name: value})
	}
	p.Tolerations = append(p.Tolerations, tolerations(c.Tolerations)...)
	i := slices.IndexFunc(p.Containers, func(c corev1.Container) bool { return c.Name == trainer })
	if i < 0 {
		p.Containers = append([]corev1.Container{{Name: trainer}}, p.Containers...)
		i = 0
	}
	t := &p.Containers[i]
	t.Image = cmp.Or(c.Image, t.Image)
	if c.Secret != "" {
		t.EnvFrom = append(t.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: c.Secret}}})
	}
	env := environment(job, attempt)
	ours := func(v corev1.EnvVar) bool {
		return slices.ContainsFunc(env, func(o corev1.EnvVar) bool { return o.Name == v.Name })
	}
	t.Env = append(slices.DeleteFunc(t.Env, ours), env...)
	if c.GPUs > 1 { // NCCL's rings between the GPUs of a node are there, and 64 MB are too few
		p.Volumes = append(p.Volumes, corev1.Volume{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}})
		t.VolumeMounts = append(t.VolumeMounts, corev1.VolumeMount{Name: "shm", MountPath: "/dev/shm"})
	}
	return resources(&t.Resources, c)
}

// environment is what the job's process is told. Its owner is the Job's UID: no two pods of a Job run at once.
func environment(job Job, attempt int) []corev1.EnvVar {
	uid := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.ControllerUidLabel + "']"}}
	env := []corev1.EnvVar{{Name: "LONGHAUL_OWNER", ValueFrom: uid}, {Name: "LONGHAUL_ATTEMPT", Value: strconv.Itoa(attempt)}}
	for _, name := range slices.Sorted(maps.Keys(job.Env)) {
		env = append(env, corev1.EnvVar{Name: name, Value: job.Env[name]})
	}
	return env
}

// resources asks for a share of a node, and holds the trainer to its GPUs and its memory.
func resources(r *corev1.ResourceRequirements, c rl.KubernetesConfig) error {
	held, asked := corev1.ResourceList{}, corev1.ResourceList{}
	if c.GPUs > 0 {
		held[gpu] = *resource.NewQuantity(int64(c.GPUs), resource.DecimalSI)
	}
	if c.Memory != "" {
		q, err := resource.ParseQuantity(c.Memory)
		if err != nil {
			return rl.Errorf(rl.Invalid, "update.kubernetes.memory", "%q: %w", c.Memory, err)
		}
		held[corev1.ResourceMemory] = q
	}
	if c.CPUs > 0 {
		asked[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(math.Round(c.CPUs*1000)), resource.DecimalSI)
	}
	r.Limits = with(r.Limits, held)
	r.Requests = with(with(r.Requests, held), asked)
	return nil
}

// with is m with more in it, whose values win.
func with[M ~map[K]V, K comparable, V any](m, more M) M {
	if m == nil {
		m = M{}
	}
	maps.Copy(m, more)
	return m
}

// pairs reads "a=b,c=d".
func pairs(text string) map[string]string {
	out := map[string]string{}
	for _, item := range items(text) {
		name, value, _ := strings.Cut(item, "=")
		out[name] = value
	}
	return out
}

// tolerations reads "KEY[=VALUE][:EFFECT],...".
func tolerations(text string) (out []corev1.Toleration) {
	for _, item := range items(text) {
		item, effect, _ := strings.Cut(item, ":")
		key, value, equal := strings.Cut(item, "=")
		t := corev1.Toleration{Key: key, Value: value, Effect: corev1.TaintEffect(effect), Operator: corev1.TolerationOpExists}
		if equal {
			t.Operator = corev1.TolerationOpEqual
		}
		out = append(out, t)
	}
	return out
}

// items are what commas part, without the spaces around it.
func items(text string) (out []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
