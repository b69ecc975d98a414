package launch

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/longhaul-rl/longhaul/rl"
)

// failing are the findings that are none to go on with: "NAME: KIND".
func failing(found []Finding) string {
	var out []string
	for _, f := range found {
		if f.Err != nil {
			out = append(out, f.Name+": "+string(rl.KindOf(f.Err)))
		} else if f.Found == "" {
			out = append(out, f.Name+": nothing is said of it")
		}
	}
	return strings.Join(out, ", ")
}

func TestKubernetesCheck(t *testing.T) {
	g := aCluster(t)
	image := rl.KubernetesConfig{Image: "registry/trainer:1", GPUs: 1}
	if bad := failing(g.with(t, image).Check(t.Context())); bad != "" {
		t.Errorf("a plain configuration: %s", bad)
	}
	image.Secret, image.ServiceAccount, image.Queue = "store", "trainer", "gpus"
	if bad := failing(g.with(t, image).Check(t.Context())); bad != "kubernetes queue gpus: not_found, kubernetes secret store: not_found, kubernetes service_account trainer: not_found" {
		t.Errorf("names of nothing: %s", bad)
	}
	jobs, err := g.client.BatchV1().Jobs(g.node.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 0 {
		t.Errorf("the check left %d Jobs, %v", len(jobs.Items), err)
	}
}

func TestKubernetesTooOld(t *testing.T) {
	client := fake.NewSimpleClientset()
	client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{Major: "1", Minor: "30+", GitVersion: "v1.30.2"}
	g := &kubernetesGround{client: client, node: &kubelet{namespace: "rl"}}
	if bad := failing(g.with(t, rl.KubernetesConfig{Image: "i"}).Check(t.Context())); bad != "kubernetes: invalid" {
		t.Error(bad)
	}
}

// What only a real API server knows: who may do what, and what a Job must be.
func TestKubernetesCheckReal(t *testing.T) {
	kubeconfig := os.Getenv(clusterVariable)
	if kubeconfig == "" {
		t.Skip(clusterVariable + " names no cluster; make test-kube starts one")
	}
	g := realCluster(t, kubeconfig)
	bad := rl.KubernetesConfig{Image: "i", Template: "spec: {template: {spec: {volumes: [{name: NOT A NAME}]}}}"}
	if found := failing(g.with(t, bad).Check(t.Context())); found != "kubernetes job: invalid" {
		t.Errorf("a bad template: %s", found)
	}
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c.Impersonate.UserName = "somebody"
	if g.client, err = kubernetes.NewForConfig(c); err != nil {
		t.Fatal(err)
	}
	found := g.with(t, rl.KubernetesConfig{Image: "i"}).Check(t.Context())
	if bad := failing(found); bad != "kubernetes rights: refused, kubernetes job: refused" || !strings.HasSuffix(found[1].Err.Error(), "it may not create jobs, get jobs, delete jobs, list pods, get pods/log") {
		t.Errorf("somebody without rights: %s, %v", bad, found)
	}
}

func TestSageMakerCheck(t *testing.T) {
	g := aRegion(t)
	if bad := failing(regionAt(g.url, someRegion).Check(t.Context())); bad != "" {
		t.Errorf("a whole configuration: %s", bad)
	}
	c := someRegion
	c.Role, c.Image = "arn:aws:iam::999999999999:role/trainer", strings.Replace(c.Image, "eu-central-1", "us-east-1", 1)
	g.fail = func(string) (int, string, string) { return 400, "AccessDeniedException", "no" }
	if bad := failing(regionAt(g.url, c).Check(t.Context())); bad != "sagemaker role: invalid, sagemaker image: invalid, sagemaker training jobs: refused, sagemaker logs: refused" {
		t.Error(bad)
	}
	if bad := failing(regionAt("http://127.0.0.1:1", c).Check(t.Context())); bad != "sagemaker: unavailable" {
		t.Error(bad)
	}
}

// Jobs elsewhere cannot reach a store that is in this process.
func TestElsewhereNeedsAStore(t *testing.T) {
	for _, use := range []string{"kubernetes", "sagemaker"} {
		if _, err := Open(rl.UpdateConfig{Use: use}, Host{Secret: map[string]string{"AWS_ACCESS_KEY_ID": "k"}}); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), "LONGHAUL_STORE") {
			t.Errorf("%s: %v", use, err)
		}
	}
}
