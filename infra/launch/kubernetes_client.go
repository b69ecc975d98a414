package launch

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/longhaul-rl/longhaul/rl"
)

// connectKubernetes makes a client from the kubeconfig, or, in a pod without one, from the pod's service account. It
// sends nothing yet.
func connectKubernetes(c rl.KubernetesConfig) (kubernetes.Interface, string, error) {
	const at = "kubernetes"
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: c.Context})
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", rl.Errorf(rl.Invalid, at, "no cluster is known here: set KUBECONFIG, or update.kubernetes.context: %w", err)
	}
	namespace := c.Namespace
	if namespace == "" {
		if namespace, _, err = loader.Namespace(); err != nil {
			return nil, "", rl.Errorf(rl.Invalid, at, "%w", err)
		}
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = 50, 100  // of one worker, with all its runs
	cfg.Timeout = 2 * time.Minute // of one answer, a log in full length
	cfg.UserAgent = "longhaul"
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, "", rl.Errorf(rl.Invalid, at, "%w", err)
	}
	return client, namespace, nil
}

// failure says what the API server's refusal means; nil stays nil.
func (k *cluster) failure(job Job, err error) error {
	if err == nil {
		return nil
	}
	kind := rl.Unavailable
	switch status, answered := errors.AsType[*apierrors.StatusError](err); {
	case !answered:
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsMethodNotSupported(err): // rights, quota, a webhook
		kind = rl.Refused
	case apierrors.IsInvalid(err), status.ErrStatus.Code == http.StatusBadRequest, status.ErrStatus.Code == http.StatusNotFound: // 404: of the namespace
		kind = rl.Invalid
	}
	e := rl.Errorf(kind, k.at(job), "%w", err)
	if seconds, wait := apierrors.SuggestsClientDelay(err); wait {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
