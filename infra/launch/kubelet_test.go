package launch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// kubelet stands for a scheduler and a node: it says of pods what theirs would, and runs nothing. A pod that is not told
// how to end runs until it is deleted, and then takes a moment to go.
type kubelet struct {
	client    kubernetes.Interface
	namespace string
	node      string
	away      atomic.Bool // the node is out of touch: what is deleted does not go

	mu     sync.Mutex
	began  map[types.UID]string    // the Job of each pod that ever ran
	ending map[types.UID]podEnding // what pods are told
	logs   map[string]string       // by pod
}

// podEnding is how a pod ends: by an exit code or, below 0, with its node; disrupted says that the cluster took it away.
type podEnding struct {
	exit      int
	disrupted bool
}

// work looks at the pods until the test is over.
func (k *kubelet) work(t *testing.T, each func(context.Context) error) {
	k.began, k.ending, k.logs = map[types.UID]string{}, map[types.UID]podEnding{}, map[string]string{}
	ctx, stop := context.WithCancel(context.Background())
	var gone sync.WaitGroup
	t.Cleanup(func() { stop(); gone.Wait() })
	gone.Go(func() {
		for ctx.Err() == nil {
			// Somebody else may change a pod between two looks: the next look sees it.
			if err := each(ctx); err != nil && ctx.Err() == nil {
				t.Log("kubelet:", err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

func (k *kubelet) look(ctx context.Context) error {
	pods, err := k.client.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if err := k.attend(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (k *kubelet) attend(ctx context.Context, p corev1.Pod) error {
	pods := k.client.CoreV1().Pods(k.namespace)
	k.mu.Lock()
	ending, told := k.ending[p.UID]
	k.mu.Unlock()
	over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case p.DeletionTimestamp != nil && k.away.Load():
		return nil
	case p.DeletionTimestamp != nil && (over || p.Spec.NodeName == ""):
		return pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	case over:
		return nil
	case p.Spec.NodeName == "":
		return pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: k.node}}, metav1.CreateOptions{})
	case p.Status.Phase != corev1.PodRunning:
		k.run(&p)
	case p.DeletionTimestamp != nil:
		k.end(&p, podEnding{exit: ExitPreempted})
	case told:
		k.end(&p, ending)
	default:
		return nil
	}
	_, err := pods.UpdateStatus(ctx, &p, metav1.UpdateOptions{})
	if err == nil && p.Status.Phase == corev1.PodRunning { // from now on everybody sees that it runs
		k.mu.Lock()
		defer k.mu.Unlock()
		k.began[p.UID], k.logs[p.Name] = p.Labels[batchv1.JobNameLabel], "at work\n"
	}
	return err
}

func (k *kubelet) run(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: trainer, Image: "image", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
}

func (k *kubelet) end(p *corev1.Pod, how podEnding) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[p.Name] += "ending\n"
	p.Status.Phase = corev1.PodFailed
	if how.disrupted {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", LastTransitionTime: metav1.Now()})
	}
	if how.exit < 0 {
		p.Status.Reason, p.Status.Message, p.Status.ContainerStatuses = "NodeLost", "the node is gone", nil
		return
	}
	if how.exit == 0 {
		p.Status.Phase = corev1.PodSucceeded
	}
	running := p.Status.ContainerStatuses[0].State.Running
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: int32(how.exit), Reason: "Error", StartedAt: running.StartedAt, FinishedAt: metav1.Now()}}
}

// tell says how the running pod of a job is to end.
func (k *kubelet) tell(t *testing.T, job Job, how podEnding) {
	t.Helper()
	pods, err := k.client.CoreV1().Pods(k.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name()})
	if err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range pods.Items {
		if _, told := k.ending[p.UID]; !told && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			k.ending[p.UID] = how
			return
		}
	}
	t.Fatal("no pod of the job runs")
}

// ran counts the pods of a job that ever were at work.
func (k *kubelet) ran(job Job) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, of := range k.began {
		if of == job.Name() {
			n++
		}
	}
	return n
}

// log is what the kubelet has kept of a pod.
func (k *kubelet) log(pod string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if text, ok := k.logs[pod]; ok {
		return text, nil
	}
	return "", fmt.Errorf("no log of pod %s", pod)
}
