package launch

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/longhaul-rl/longhaul/rl"
)

// realCluster is a namespace and a node of their own in a cluster of processes: the API server and the controllers are
// Kubernetes' own, the node is ours, and the API server fetches its logs from it as it would from a kubelet.
func realCluster(t *testing.T, kubeconfig string) *kubernetesGround {
	t.Setenv("KUBECONFIG", kubeconfig)
	client, _, err := connectKubernetes(rl.KubernetesConfig{})
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("test-%d", time.Now().UnixNano())
	node := &kubelet{client: client, namespace: id, node: id}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := node.log(path.Base(path.Dir(r.URL.Path))) // containerLogs/NAMESPACE/POD/CONTAINER
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: id}}
	if n, err = client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	node.work(t, node.look)
	return &kubernetesGround{client: client, node: node}
}
