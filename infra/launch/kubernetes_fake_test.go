package launch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	v1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	fakerest "k8s.io/client-go/rest/fake"
	clienttest "k8s.io/client-go/testing"
)

// controller does on the fake clientset what the API server and the Job's controller do in a cluster, as far as a
// launcher sees it. `make test-kube` holds it against the real ones: the tests are the same.
type controller struct {
	client *fake.Clientset
	node   *kubelet
	made   atomic.Int64
}

var (
	jobsResource = batchv1.SchemeGroupVersion.WithResource("jobs")
	podsResource = corev1.SchemeGroupVersion.WithResource("pods")
)

// fakeCluster is a cluster in this process.
func fakeCluster(t *testing.T) *kubernetesGround {
	clientset := fake.NewSimpleClientset()
	node := &kubelet{namespace: "rl", node: "node-1"}
	c := &controller{client: clientset, node: node}
	clientset.PrependReactor("create", "jobs", c.admit)
	clientset.PrependReactor("delete", "jobs", c.deleteJob)
	clientset.PrependReactor("create", "pods", c.bind)
	clientset.PrependReactor("create", "selfsubjectaccessreviews", allow)
	node.client = logging{clientset, node}
	node.work(t, func(ctx context.Context) error {
		if err := c.reconcile(); err != nil {
			return err
		}
		return node.look(ctx)
	})
	return &kubernetesGround{client: node.client, node: node}
}

func (c *controller) identify(m *metav1.ObjectMeta) {
	m.UID = types.UID(fmt.Sprintf("uid-%d", c.made.Add(1)))
	m.CreationTimestamp = metav1.Now()
}

// admit gives a new Job what the API server would; the tracker then refuses a name that is taken.
func (c *controller) admit(a clienttest.Action) (bool, runtime.Object, error) {
	j := a.(clienttest.CreateAction).GetObject().(*batchv1.Job).DeepCopy()
	c.identify(&j.ObjectMeta)
	if len(a.(clienttest.CreateActionImpl).CreateOptions.DryRun) > 0 {
		return true, j, nil
	}
	return true, j, c.client.Tracker().Create(jobsResource, j, j.Namespace)
}

// deleteJob marks it; the controller takes its pods first.
func (c *controller) deleteJob(a clienttest.Action) (bool, runtime.Object, error) {
	d := a.(clienttest.DeleteActionImpl)
	found, err := c.client.Tracker().Get(jobsResource, d.Namespace, d.Name)
	if err != nil {
		return true, nil, err
	}
	j := found.(*batchv1.Job).DeepCopy()
	if p := d.DeleteOptions.Preconditions; p != nil && p.UID != nil && *p.UID != j.UID {
		return true, nil, apierrors.NewConflict(jobsResource.GroupResource(), d.Name, fmt.Errorf("UID is %s", j.UID))
	}
	if p := d.DeleteOptions.PropagationPolicy; p == nil || *p != metav1.DeletePropagationForeground {
		return true, nil, apierrors.NewBadRequest("its pods would outlive it")
	}
	j.DeletionTimestamp = new(metav1.Now())
	return true, nil, c.client.Tracker().Update(jobsResource, j, j.Namespace)
}

// bind puts a pod on its node, which the tracker does not know how to do.
func (c *controller) bind(a clienttest.Action) (bool, runtime.Object, error) {
	if a.GetSubresource() != "binding" {
		return false, nil, nil
	}
	b := a.(clienttest.CreateAction).GetObject().(*corev1.Binding)
	found, err := c.client.Tracker().Get(podsResource, b.Namespace, b.Name)
	if err != nil {
		return true, nil, err
	}
	p := found.(*corev1.Pod).DeepCopy()
	p.Spec.NodeName = b.Target.Name
	return true, b, c.client.Tracker().Update(podsResource, p, p.Namespace)
}

// allow answers whoever asks for rights.
func allow(a clienttest.Action) (bool, runtime.Object, error) {
	r := a.(clienttest.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
	r.Status.Allowed = true
	return true, r, nil
}

func (c *controller) reconcile() error {
	ctx := context.Background()
	jobs, err := c.client.BatchV1().Jobs(c.node.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, j := range jobs.Items {
		pods, err := c.client.CoreV1().Pods(j.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(j.UID)})
		if err == nil {
			err = c.control(j.DeepCopy(), newestFirst(pods.Items))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// control takes one step with one Job.
func (c *controller) control(j *batchv1.Job, pods []corev1.Pod) error {
	tracker := c.client.Tracker()
	switch {
	case j.DeletionTimestamp != nil && len(pods) == 0:
		return tracker.Delete(jobsResource, j.Namespace, j.Name)
	case j.DeletionTimestamp != nil:
		p := pods[0].DeepCopy()
		if p.DeletionTimestamp != nil {
			return nil
		}
		p.DeletionTimestamp = new(metav1.Now())
		return tracker.Update(podsResource, p, p.Namespace)
	case over(j):
		return nil
	case len(pods) == 0:
		return c.makePod(j)
	case pods[0].Status.Phase == corev1.PodSucceeded:
		return c.conclude(j, batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	case pods[0].Status.Phase != corev1.PodFailed:
		return nil
	}
	switch action := judge(j, pods[0]); {
	case action == batchv1.PodFailurePolicyActionFailJob:
		return c.conclude(j, batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
	case action == batchv1.PodFailurePolicyActionCount && *j.Spec.BackoffLimit == 0:
		return c.conclude(j, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	}
	return c.makePod(j)
}

// judge is what the Job's own rules say of a pod that failed.
func judge(j *batchv1.Job, p corev1.Pod) batchv1.PodFailurePolicyAction {
	for _, r := range j.Spec.PodFailurePolicy.Rules {
		if r.OnExitCodes != nil && container(p).Terminated != nil && slices.Contains(r.OnExitCodes.Values, container(p).Terminated.ExitCode) {
			return r.Action
		}
		for _, want := range r.OnPodConditions {
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == want.Type && c.Status == want.Status }) {
				return r.Action
			}
		}
	}
	return batchv1.PodFailurePolicyActionCount
}

func (c *controller) makePod(j *batchv1.Job) error {
	p := &corev1.Pod{ObjectMeta: *j.Spec.Template.ObjectMeta.DeepCopy(), Spec: *j.Spec.Template.Spec.DeepCopy()}
	c.identify(&p.ObjectMeta)
	p.Name, p.Namespace, p.Status.Phase = fmt.Sprintf("%s-%s", j.Name, p.UID), j.Namespace, corev1.PodPending
	p.Labels = with(p.Labels, map[string]string{batchv1.ControllerUidLabel: string(j.UID), batchv1.JobNameLabel: j.Name})
	return c.client.Tracker().Create(podsResource, p, p.Namespace)
}

func (c *controller) conclude(j *batchv1.Job, as batchv1.JobConditionType, reason string) error {
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: as, Status: corev1.ConditionTrue, Reason: reason, Message: "by the rules"})
	return c.client.Tracker().Update(jobsResource, j, j.Namespace)
}

// logging is the fake clientset with logs, of which its own has none but "fake logs".
type logging struct {
	*fake.Clientset
	node *kubelet
}

type loggingCore struct {
	v1.CoreV1Interface
	node *kubelet
}

type loggingPods struct {
	v1.PodInterface
	node *kubelet
}

var _ kubernetes.Interface = logging{}

func (l logging) CoreV1() v1.CoreV1Interface { return loggingCore{l.Clientset.CoreV1(), l.node} }

func (l loggingCore) Pods(namespace string) v1.PodInterface {
	return loggingPods{l.CoreV1Interface.Pods(namespace), l.node}
}

func (l loggingPods) GetLogs(name string, _ *corev1.PodLogOptions) *rest.Request {
	answer := func(*http.Request) (*http.Response, error) {
		text, err := l.node.log(name)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}, err
	}
	return (&fakerest.RESTClient{Client: fakerest.CreateHTTPClient(answer), NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: corev1.SchemeGroupVersion}).Request()
}
