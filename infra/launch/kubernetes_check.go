package launch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/longhaul-rl/longhaul/rl"
)

// oldest is the first minor version of Kubernetes whose podFailurePolicy is there for good.
const oldest = 31

// sample is a job that is asked about and never started.
var sample = Job{Run: "doctor", Key: strings.Repeat("0", 64), Spec: "s3://bucket/jobs/doctor/spec.json"}

// Check asks the cluster whether it is there, what the launcher may do, and whether it would take a Job such as ours.
func (k *cluster) Check(ctx context.Context) []Finding {
	version, err := k.version()
	if err != nil {
		return []Finding{{Name: "kubernetes", Err: err, Mend: "are KUBECONFIG and update.kubernetes.context right, and are its credentials valid?"}}
	}
	found := []Finding{{Name: "kubernetes", Found: fmt.Sprintf("it answers, version %s; Jobs go to namespace %s", version, k.namespace)}}
	for _, try := range []func(context.Context) (Finding, bool){k.rights, k.kueue, k.secret, k.account, k.accepts} {
		if f, tried := try(ctx); tried {
			found = append(found, f)
		}
	}
	return found
}

func (k *cluster) version() (string, error) {
	v, err := k.client.Discovery().ServerVersion()
	if err != nil {
		return "", k.failure(sample, err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(v.Minor, "+"))
	if err == nil && v.Major == "1" && minor < oldest {
		return "", rl.Errorf(rl.Invalid, "kubernetes", "it is version %s, and its Jobs have no podFailurePolicy: 1.%d is needed", v.GitVersion, oldest)
	}
	return v.GitVersion, nil
}

// rights asks for each thing that the launcher does whether it may.
func (k *cluster) rights(ctx context.Context) (Finding, bool) {
	f := Finding{Name: "kubernetes rights", Found: "it may create, read and delete Jobs, and read their pods and logs", Mend: "give them to the user, or to the worker's service account; docs/gpu.md has the Role"}
	var refused []string
	for _, r := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Group: "batch", Resource: "jobs"}, {Verb: "get", Group: "batch", Resource: "jobs"}, {Verb: "delete", Group: "batch", Resource: "jobs"},
		{Verb: "list", Resource: "pods"}, {Verb: "get", Resource: "pods", Subresource: "log"},
	} {
		r.Namespace = k.namespace
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &r}}
		answer, err := k.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			f.Err = k.failure(sample, err)
			return f, true
		}
		if !answer.Status.Allowed {
			refused = append(refused, strings.TrimRight(r.Verb+" "+r.Resource+"/"+r.Subresource, "/"))
		}
	}
	if len(refused) > 0 {
		f.Err = rl.Errorf(rl.Refused, f.Name, "in namespace %s it may not %s", k.namespace, strings.Join(refused, ", "))
	}
	return f, true
}

// kueue asks whether somebody reads the queue's label.
func (k *cluster) kueue(context.Context) (Finding, bool) {
	f := Finding{Name: "kubernetes queue " + k.config.Queue, Found: "the cluster has Kueue", Mend: "install Kueue, or leave update.kubernetes.queue out"}
	groups, err := k.client.Discovery().ServerGroups()
	switch {
	case err != nil:
		f.Err = k.failure(sample, err)
	case !slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "kueue.x-k8s.io" }):
		f.Err = rl.Errorf(rl.NotFound, f.Name, "the cluster has no Kueue, so nobody would hold the Jobs back")
	}
	return f, k.config.Queue != ""
}

// secret looks for the Secret, where the launcher may; its values are dropped unread.
func (k *cluster) secret(ctx context.Context) (Finding, bool) {
	_, err := k.client.CoreV1().Secrets(k.namespace).Get(ctx, k.config.Secret, metav1.GetOptions{})
	return k.there("secret", k.config.Secret, err)
}

// account looks for the service account, where the launcher may.
func (k *cluster) account(ctx context.Context) (Finding, bool) {
	_, err := k.client.CoreV1().ServiceAccounts(k.namespace).Get(ctx, k.config.ServiceAccount, metav1.GetOptions{})
	return k.there("service_account", k.config.ServiceAccount, err)
}

// there is what a look for a named thing found; nothing is said where the launcher may not look.
func (k *cluster) there(key, name string, err error) (Finding, bool) {
	f := Finding{Name: "kubernetes " + key + " " + name, Found: "it is there", Mend: fmt.Sprintf("make it in namespace %s, or name another in update.kubernetes.%s", k.namespace, key)}
	if apierrors.IsNotFound(err) {
		f.Err = rl.Errorf(rl.NotFound, f.Name, "there is none in namespace %s", k.namespace)
	}
	return f, name != "" && (err == nil || f.Err != nil)
}

// accepts sends the Job as it would be, to be checked and not kept.
func (k *cluster) accepts(ctx context.Context) (Finding, bool) {
	f := Finding{Name: "kubernetes job", Found: "the API server would take such a Job; whether a node can pull " + k.config.Image + " shows when one is to", Mend: "mend what it names in update.kubernetes, or in the namespace's quota and policies"}
	j, err := k.manifest(sample, 1)
	if err == nil {
		_, err = k.client.BatchV1().Jobs(k.namespace).Create(ctx, j, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		err = k.failure(sample, err)
	}
	f.Err = err
	return f, true
}
