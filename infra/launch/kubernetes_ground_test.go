package launch

import (
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/longhaul-rl/longhaul/rl"
)

// clusterVariable names the kubeconfig of a cluster to test in, which scripts/test_kube.sh starts; without it the tests
// run in one of this process.
const clusterVariable = "LONGHAUL_TEST_KUBECONFIG"

func init() { grounds["kubernetes"] = func(t *testing.T) ground { return aCluster(t) } }

type kubernetesGround struct {
	client kubernetes.Interface
	node   *kubelet
}

func aCluster(t *testing.T) *kubernetesGround {
	if kubeconfig := os.Getenv(clusterVariable); kubeconfig != "" {
		return realCluster(t, kubeconfig)
	}
	return fakeCluster(t)
}

func (g *kubernetesGround) open(t *testing.T) Launcher {
	return g.with(t, rl.KubernetesConfig{Image: "registry/trainer:1"})
}

// with makes a launcher of a configuration.
func (g *kubernetesGround) with(t *testing.T, c rl.KubernetesConfig) *cluster {
	t.Helper()
	template, err := parseTemplate(c.Template)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{g.client, g.node.namespace, c, time.Hour, template}
}

func (g *kubernetesGround) end(t *testing.T, job Job, exit int) {
	g.node.tell(t, job, podEnding{exit: exit})
}

func (g *kubernetesGround) starts(_ *testing.T, job Job) int { return g.node.ran(job) }
