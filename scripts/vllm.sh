#!/usr/bin/env bash
# vllm.sh DIR trains a tiny random Llama for three updates with real vLLM on the CPU: token ids and log-probabilities from vLLM, a LoRA
# update in PyTorch, for which vLLM is paused, the new version loaded into vLLM while it serves. In the first update an evaluation
# waits for the paused vLLM; in the second vLLM is killed, and started again; in the third it is paused by somebody else, for
# longer than a turn may take. Then it checks what is recorded. All of it stays in DIR.
#
# The first run installs vLLM (scripts/vllm/python.sh) and PyTorch (scripts/python.sh): 12 GB, some minutes.
set -euo pipefail
work=$(mkdir "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
longhaul=$PWD/bin/longhaul
need=scripts/vllm
vllm=$(scripts/vllm/python.sh)
trainer=${LONGHAUL_TEST_PYTHON:-$(scripts/python.sh)/bin/python}

port=$("$vllm" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
"$vllm" $need/model.py "$work/model" 2>"$work/model.log" || { cat "$work/model.log" >&2; exit 1; }

# The flags that longhaul needs of vLLM are those of the last line, and the last two variables. Prompts are taken in whole: on a CPU,
# vLLM 0.32 dies of a seeded request whose prompt it takes in in parts (CPU generators have no offset to set back).
serve() {
  HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind CUDA_VISIBLE_DEVICES='' \
    VLLM_ALLOW_RUNTIME_LORA_UPDATING=True VLLM_SERVER_DEV_MODE=1 setsid "$vllm" -m vllm.entrypoints.openai.api_server \
    --model "$work/model" --served-model-name base --host 127.0.0.1 --port "$port" --dtype float32 --enforce-eager \
    --max-model-len 1024 --max-num-seqs 16 --max-num-batched-tokens 16384 --no-enable-chunked-prefill \
    --enable-lora --max-lora-rank 8 --max-loras 2 --enable-auto-tool-choice --tool-call-parser hermes >>"$work/vllm.log" 2>&1 &
  server=$!
}
ready() {
  until curl -sf "$url/health" >/dev/null; do
    kill -0 "$server" 2>/dev/null || { tail -30 "$work/vllm.log" >&2; exit 1; }
    sleep 1
  done
}
trap 'kill -9 -- "-$server" 2>/dev/null; kill "${run:-$server}" 2>/dev/null || true' EXIT
say() { printf '\n%s %s\n' "$(date +%T)" "$*"; }

say "starting vLLM on the CPU"
serve
ready
# Its first tokens take long.
curl -sf "$url/v1/chat/completions" -H 'Content-Type: application/json' -d '{"model":"base","messages":[{"role":"user","content":"hello"}],"max_tokens":8}' >/dev/null

# The episodes of a random model earn nothing: what tells them apart is how much they say.
cat >"$work/run.yaml" <<YAML
name: vllm
env: {use: orders, max_turns: 3, turn_timeout: 30s}
policy: {use: openai, url: "$url/v1", model: base, base: "$work/model", publish: lora, adapters: "$work/adapters", share_gpu: pause}
sampling: {max_tokens: 48}
group: {size: 4, per_update: 4, per_activity: 2}
reward: {use: cost}
update: {use: local, learning_rate: 1e-2, minibatches: 1, ramp: 0, kl_stop: 0, lora_rank: 8, local: {python: "$trainer"}}
updates: 3
eval: {every: 0, tasks: 4}
YAML
longhaul() { "$longhaul" "$@" --data "$work/data"; }
status() { longhaul status vllm --json 2>/dev/null; }
# until_seen PATTERN waits until `status` says it, while the run goes on.
until_seen() {
  until status | grep -qE "$1"; do
    kill -0 "$run" 2>/dev/null || { tail -20 "$work/train.log" >&2; exit 1; }
    sleep .2
  done
}

say "training"
PYTHONPATH=$PWD/trainer "$longhaul" train -f "$work/run.yaml" --data "$work/data" >"$work/train.log" 2>&1 &
run=$!
paused() { curl -sf "$url/is_paused" | grep -q true; }
until paused; do
  kill -0 "$run" 2>/dev/null || { tail -20 "$work/train.log" >&2; exit 1; }
  sleep .2
done
say "update 1 has begun, and vLLM is paused for it: an evaluation waits"
longhaul eval vllm@0 --json >"$work/eval.json" 2>"$work/eval.log" &
evaluation=$!
until_seen '"update": ?2'
wait "$evaluation" || { tail -20 "$work/eval.log" >&2; exit 1; }
paused && { echo "vLLM is paused still" >&2; exit 1; }
say "update 2 begins: vLLM is killed"
kill -9 -- "-$server"
wait "$server" 2>/dev/null || true
until_seen '"what": ?"(RunTrajectory|Publish|UpdatePolicy)"'
longhaul status vllm 2>/dev/null | grep -E '^(waiting|server)' || true
serve
ready
say "vLLM is back, and knows no adapter"
until_seen '"update": ?3'
say "update 3 begins: vLLM is paused by somebody else, for longer than a turn may take"
curl -sf -X POST "$url/pause?mode=keep" >/dev/null
until_seen '"state": ?"paused"'
longhaul status vllm 2>/dev/null | grep -E '^server'
sleep 45
curl -sf -X POST "$url/resume" >/dev/null
wait "$run" || { tail -20 "$work/train.log" >&2; exit 1; }

say "what is recorded"
longhaul ledger vllm 2>/dev/null
"$vllm" $need/check.py "$longhaul" "$work/data" "$work/vllm.log" "$work/eval.json"
