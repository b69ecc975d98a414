package launch

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is when every Job of these tests was made.
var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func after(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

func podAt(made int, phase corev1.PodPhase, state corev1.ContainerState) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "rl", CreationTimestamp: after(made)}, Spec: corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "side"}, {Name: trainer, State: state}}}}
}

func ranFrom(began, ended, code int, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: after(began), FinishedAt: after(ended), ExitCode: int32(code), Reason: reason}}
}

func concluded(as batchv1.JobConditionType, reason, message string) batchv1.JobStatus {
	return batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}, {Type: as, Status: corev1.ConditionTrue, Reason: reason, Message: message}}}
}

func TestKubernetesStatus(t *testing.T) {
	const job, pod = "job rl/lh", "pod rl/p on n"
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(30)}}
	unscheduled := podAt(1, corev1.PodPending, corev1.ContainerState{})
	unscheduled.Spec.NodeName = ""
	unscheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no GPU"}}
	noImage := podAt(1, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}})
	lost := podAt(1, corev1.PodFailed, corev1.ContainerState{})
	lost.Status.Reason, lost.Status.Message = "NodeLost", "the node is gone"
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for name, c := range map[string]struct {
		status batchv1.JobStatus
		pods   []corev1.Pod
		want   Status // 100 seconds after the Job was made
	}{
		"just made": {batchv1.JobStatus{}, nil, Status{State: Queued, Why: "no pod is made yet", Identity: job, Queued: second(100)}},
		"not admitted": {concluded(batchv1.JobSuspended, "JobSuspended", ""), nil,
			Status{State: Queued, Why: "suspended: its queue has not admitted it", Identity: job, Queued: second(100)}},
		"no room":  {batchv1.JobStatus{}, []corev1.Pod{unscheduled}, Status{State: Queued, Why: "Unschedulable: no GPU", Identity: "pod rl/p", Queued: second(100)}},
		"no image": {batchv1.JobStatus{}, []corev1.Pod{noImage}, Status{State: Queued, Why: "ImagePullBackOff: no such image", Identity: pod, Queued: second(100)}},
		"running":  {batchv1.JobStatus{}, []corev1.Pod{podAt(1, corev1.PodRunning, running)}, Status{State: Running, Identity: pod, Queued: second(30), Ran: second(70)}},
		"taken away, then running again": {batchv1.JobStatus{}, []corev1.Pod{podAt(20, corev1.PodRunning, running), podAt(1, corev1.PodFailed, ranFrom(5, 15, 143, "Error"))},
			Status{State: Running, Identity: pod, Queued: second(5 + 15), Ran: second(10 + 70)}},
		"taken away, and waiting": {batchv1.JobStatus{}, []corev1.Pod{podAt(90, corev1.PodPending, corev1.ContainerState{}), podAt(1, corev1.PodFailed, ranFrom(5, 15, 143, "Error"))},
			Status{State: Queued, Why: "pod is pending", Identity: pod, Queued: second(5 + 85), Ran: second(10)}},
		"taken away, and the next not made yet": {batchv1.JobStatus{}, []corev1.Pod{podAt(1, corev1.PodFailed, ranFrom(5, 15, 143, "Error"))},
			Status{State: Queued, Why: "pod p was taken away, and the next is to come", Identity: pod, Queued: second(5 + 85), Ran: second(10)}},
		"done": {concluded(batchv1.JobComplete, "CompletionsReached", ""), []corev1.Pod{podAt(1, corev1.PodSucceeded, ranFrom(5, 65, 0, "Completed"))},
			Status{State: Done, Identity: pod, Queued: second(5), Ran: second(60)}},
		"exit 42": {concluded(batchv1.JobFailed, "PodFailurePolicy", "exit code 42"), []corev1.Pod{podAt(1, corev1.PodFailed, ranFrom(5, 6, 42, "Error"))},
			Status{State: Failed, Exit: 42, Why: "exit code 42", Identity: pod, Queued: second(5), Ran: second(1)}},
		"exit 42, and its pod is gone": {concluded(batchv1.JobFailed, "PodFailurePolicy", "exit code 42"), nil, Status{State: Failed, Exit: 42, Why: "exit code 42", Identity: job}},
		"out of memory": {concluded(batchv1.JobFailed, "BackoffLimitExceeded", "too often"), []corev1.Pod{podAt(1, corev1.PodFailed, ranFrom(5, 6, 137, "OOMKilled"))},
			Status{State: Lost, Exit: 137, Why: "BackoffLimitExceeded: too often; its container: OOMKilled", Identity: pod, Queued: second(5), Ran: second(1)}},
		"its node is gone": {concluded(batchv1.JobFailed, "BackoffLimitExceeded", "too often"), []corev1.Pod{lost},
			Status{State: Lost, Exit: -1, Why: "BackoffLimitExceeded: too often; pod p: NodeLost the node is gone", Identity: pod}},
		"too long": {concluded(batchv1.JobFailed, "DeadlineExceeded", "too long"), nil, Status{State: Lost, Exit: -1, Why: "DeadlineExceeded: too long", Identity: job}},
	} {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "lh", Namespace: "rl", CreationTimestamp: after(0), Annotations: map[string]string{attemptAnnotation: "3"}}, Status: c.status}
		c.want.Attempt = 3
		if got := status(j, c.pods, after(100).Time); got != c.want {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}
