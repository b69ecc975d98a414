package launch

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { Register("kubernetes", openKubernetes) }

// cluster runs jobs as batch/v1 Jobs. The API server is what settles races: of any number of workers one creates the Job,
// since its name is fixed, and the others find it. Everything that is known of a job is in the cluster.
//
// An attempt is one Job object. Its pods may be more: one that the cluster takes away (spot, drain, a higher priority) is
// replaced by the Job's controller, which is not an attempt; one that ends by itself is not, so that whether another
// attempt is worth it is said in one place, by whoever calls Ensure. The next attempt is a new Job of the same name, after
// the old one and its pods are gone.
type cluster struct {
	client    kubernetes.Interface
	namespace string
	config    rl.KubernetesConfig
	timeout   time.Duration
	template  *batchv1.Job
}

// Annotations of a Job: the key of the spec that it is of, and the attempt's number.
const (
	specAnnotation    = "longhaul/spec"
	attemptAnnotation = "longhaul/attempt"
)

// confirmEvery is how often the end of something is asked for.
const confirmEvery = 200 * time.Millisecond

func openKubernetes(u rl.UpdateConfig, h Host) (Launcher, error) {
	if err := elsewhere(h, "kubernetes"); err != nil {
		return nil, err
	}
	template, err := parseTemplate(u.Kubernetes.Template)
	if err != nil {
		return nil, err
	}
	client, namespace, err := connectKubernetes(u.Kubernetes)
	if err != nil {
		return nil, err
	}
	return &cluster{client, namespace, u.Kubernetes, time.Duration(u.Timeout), template}, nil
}

// Ensure creates the attempt's Job, once what is left of an earlier attempt is gone.
func (k *cluster) Ensure(ctx context.Context, job Job, attempt int) error {
	want, err := k.manifest(job, attempt)
	if err != nil {
		return err
	}
	for {
		old, err := k.get(ctx, job)
		switch {
		case err != nil:
			return err
		case old == nil:
			_, err := k.client.BatchV1().Jobs(k.namespace).Create(ctx, want, metav1.CreateOptions{FieldManager: "longhaul"})
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			return k.failure(job, err)
		case old.DeletionTimestamp == nil && (attemptOf(old) >= attempt || !over(old)):
			return nil
		}
		if err := k.remove(ctx, job, old); err != nil {
			return err
		}
	}
}

// Poll reads the Job and its pods.
func (k *cluster) Poll(ctx context.Context, job Job) (Status, error) {
	j, err := k.get(ctx, job)
	if err != nil {
		return Status{}, err
	}
	if j == nil {
		return Status{State: Absent}, nil
	}
	pods, err := k.pods(ctx, job, j)
	if err != nil {
		return Status{}, err
	}
	return status(j, pods, time.Now()), nil
}

// Cancel deletes the Job and its pods, and returns when they are gone.
func (k *cluster) Cancel(ctx context.Context, job Job) error {
	j, err := k.get(ctx, job)
	if err != nil || j == nil || over(j) {
		return err
	}
	return k.remove(ctx, job, j)
}

// Logs is what the last pod that ran wrote.
func (k *cluster) Logs(ctx context.Context, job Job) (io.ReadCloser, error) {
	j, err := k.get(ctx, job)
	if err != nil {
		return nil, err
	}
	if j != nil {
		pods, err := k.pods(ctx, job, j)
		if err != nil {
			return nil, err
		}
		for _, p := range pods { // newest first
			if began, _ := times(p); began.IsZero() {
				continue
			}
			r, err := k.client.CoreV1().Pods(k.namespace).GetLogs(p.Name, &corev1.PodLogOptions{Container: trainer}).Stream(ctx)
			if !apierrors.IsNotFound(err) {
				return r, k.failure(job, err)
			}
		}
	}
	return nil, rl.Errorf(rl.NotFound, k.at(job), "no pod of it has begun, or is left")
}

// get is the job's Job, nil where there is none. Conflict: it is another spec's.
func (k *cluster) get(ctx context.Context, job Job) (*batchv1.Job, error) {
	j, err := k.client.BatchV1().Jobs(k.namespace).Get(ctx, job.Name(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, k.failure(job, err)
	}
	if spec := j.Annotations[specAnnotation]; spec != job.Key {
		return nil, rl.Errorf(rl.Conflict, k.at(job), "there is a Job of that name with spec %q, not %s; `kubectl delete job` it if it is nobody's", spec, job.Key)
	}
	return j, nil
}

// pods are a Job's own, the newest first.
func (k *cluster) pods(ctx context.Context, job Job, j *batchv1.Job) ([]corev1.Pod, error) {
	list, err := k.client.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(j.UID)})
	if err != nil {
		return nil, k.failure(job, err)
	}
	return newestFirst(list.Items), nil
}

// remove deletes this very Job and waits until it and its pods are gone: a Job that is deleted in the foreground goes
// after its pods, and a pod after its containers.
func (k *cluster) remove(ctx context.Context, job Job, j *batchv1.Job) error {
	jobs := k.client.BatchV1().Jobs(k.namespace)
	err := jobs.Delete(ctx, j.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground),
		Preconditions:     &metav1.Preconditions{UID: &j.UID},
	})
	for err == nil {
		var now *batchv1.Job
		if now, err = jobs.Get(ctx, j.Name, metav1.GetOptions{}); err == nil && now.UID != j.UID {
			return nil
		}
		if err != nil {
			break
		}
		select {
		case <-ctx.Done():
			return rl.Errorf(rl.Unavailable, k.at(job), "it is deleted, and its pods are not gone yet: %w", ctx.Err())
		case <-time.After(confirmEvery):
		}
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or another Job has its name
		return nil
	}
	return k.failure(job, err)
}

func (k *cluster) at(job Job) string {
	return fmt.Sprintf("kubernetes job %s/%s", k.namespace, job.Name())
}

// attemptOf is the number that Ensure gave the Job.
func attemptOf(j *batchv1.Job) int {
	n, err := strconv.Atoi(j.Annotations[attemptAnnotation])
	if err != nil { // somebody took it away: it is the first for all that is known
		return 1
	}
	return n
}
