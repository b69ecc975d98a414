package launch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// status reads a Job and its pods, the newest first.
func status(j *batchv1.Job, pods []corev1.Pod, now time.Time) Status {
	s := Status{State: Queued, Attempt: attemptOf(j), Identity: "job " + j.Namespace + "/" + j.Name}
	since := j.CreationTimestamp.Time // that it has no machine
	for _, p := range slices.Backward(pods) {
		began, ended := times(p)
		if began.IsZero() {
			continue
		}
		if ended.IsZero() {
			ended = now
		}
		s.Queued += max(0, began.Sub(since)) // the cluster's clock may be ahead of ours
		s.Ran += max(0, ended.Sub(began))
		since = ended
	}
	if len(pods) > 0 {
		p := pods[0]
		s.Identity = fmt.Sprintf("pod %s/%s", p.Namespace, p.Name)
		if p.Spec.NodeName != "" {
			s.Identity += " on " + p.Spec.NodeName
		}
		if p.Status.Phase == corev1.PodRunning {
			s.State = Running
		}
	}
	complete, failed := condition(j, batchv1.JobComplete), condition(j, batchv1.JobFailed)
	switch {
	case complete != nil:
		s.State = Done
	case failed != nil && failed.Reason == batchv1.JobReasonPodFailurePolicy: // its one rule that fails a Job is of ExitPermanent
		s.State, s.Exit, s.Why = Failed, ExitPermanent, failed.Message
	case failed != nil:
		s.State, s.Exit, s.Why = Lost, -1, failed.Reason+": "+failed.Message
		if len(pods) > 0 {
			code, why := exit(pods[0])
			s.Exit, s.Why = code, s.Why+why
		}
	case s.State == Queued:
		s.Why = waiting(j, pods)
		s.Queued += max(0, now.Sub(since))
	}
	return s
}

// over reports whether a Job has ended: its pods have too by then.
func over(j *batchv1.Job) bool {
	return condition(j, batchv1.JobComplete) != nil || condition(j, batchv1.JobFailed) != nil
}

// condition is the Job's condition of a type, nil unless it holds.
func condition(j *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if c.Type == of && c.Status == corev1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// newestFirst sorts pods by when they were made.
func newestFirst(pods []corev1.Pod) []corev1.Pod {
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		if c := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(b.Name, a.Name)
	})
	return pods
}

// container is what the kubelet says of a pod's trainer, and zero before it has.
func container(p corev1.Pod) corev1.ContainerState {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == trainer {
			return c.State
		}
	}
	return corev1.ContainerState{}
}

// times are when a pod's trainer began and ended; zero: not yet, or unknown.
func times(p corev1.Pod) (began, ended time.Time) {
	switch c := container(p); {
	case c.Running != nil:
		return c.Running.StartedAt.Time, ended
	case c.Terminated != nil:
		return c.Terminated.StartedAt.Time, c.Terminated.FinishedAt.Time
	}
	return began, ended
}

// exit is how a pod's trainer ended: its code, -1 when none is known, and what there is to say of it.
func exit(p corev1.Pod) (code int, why string) {
	if p.Status.Reason != "" || p.Status.Message != "" {
		why = fmt.Sprintf("; pod %s: %s %s", p.Name, p.Status.Reason, p.Status.Message)
	}
	c := container(p).Terminated
	if c == nil {
		return -1, why
	}
	if c.Reason != "" && c.Reason != "Error" { // OOMKilled
		why += "; its container: " + c.Reason
	}
	return int(c.ExitCode), why
}

// waiting says what a Job without a running pod waits for.
func waiting(j *batchv1.Job, pods []corev1.Pod) string {
	if condition(j, batchv1.JobSuspended) != nil {
		return "suspended: its queue has not admitted it"
	}
	if len(pods) == 0 {
		return "no pod is made yet"
	}
	if pods[0].Status.Phase == corev1.PodFailed {
		return "pod " + pods[0].Name + " was taken away, and the next is to come"
	}
	if w := container(pods[0]).Waiting; w != nil { // ImagePullBackOff, CreateContainerConfigError
		return strings.TrimRight(w.Reason+": "+w.Message, ": ")
	}
	for _, c := range pods[0].Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	return "pod is " + strings.ToLower(string(pods[0].Status.Phase))
}
