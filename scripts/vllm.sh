#!/usr/bin/env bash
# vllm.sh DIR trains a tiny random Llama for three updates with real vLLM on the CPU: token ids and log-probabilities from vLLM, a LoRA
# update in PyTorch, for which vLLM is paused, the new version loaded into vLLM while it serves. In the first update an evaluation
# waits for the paused vLLM; in the rollouts of the second vLLM is killed, and started again; in those of the third it is paused by
# somebody else. Then one more run, whose update has vLLM asleep and an evaluation waiting. Every such wait is longer than a turn may
# take. Last it checks what is recorded. All of it stays in DIR.
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

# The flags that longhaul needs of vLLM are those of the last line, and the last two variables; the log of requests is for check.py.
# Prompts are taken in whole: on a CPU, vLLM 0.32 dies of a seeded request whose prompt it takes in in parts (CPU generators have no
# offset to set back).
serve() {
  HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind CUDA_VISIBLE_DEVICES='' \
    VLLM_ALLOW_RUNTIME_LORA_UPDATING=True VLLM_SERVER_DEV_MODE=1 setsid "$vllm" -m vllm.entrypoints.openai.api_server \
    --model "$work/model" --served-model-name base --host 127.0.0.1 --port "$port" --dtype float32 --enforce-eager \
    --max-model-len 1024 --max-num-seqs 16 --max-num-batched-tokens 16384 --no-enable-chunked-prefill --enable-log-requests \
    --enable-lora --max-lora-rank 8 --max-loras 2 --enable-auto-tool-choice --tool-call-parser hermes >>"$work/vllm.log" 2>&1 &
  server=$!
}
ready() {
  until curl -sf "$url/health" >/dev/null; do
    kill -0 "$server" 2>/dev/null || { tail -30 "$work/vllm.log" >&2; exit 1; }
    sleep 1
  done
}
trap 'kill -9 -- "-$server" 2>/dev/null; kill ${run:-} ${evaluation:-} 2>/dev/null || true' EXIT
say() { printf '\n%s %s\n' "$(date +%T)" "$*"; }

say "starting vLLM on the CPU"
serve
ready
# Its first tokens take long.
curl -sf "$url/v1/chat/completions" -H 'Content-Type: application/json' -d '{"model":"base","messages":[{"role":"user","content":"hello"}],"max_tokens":8}' >/dev/null

# The trainer's own seconds are fewer here than a turn may take: every job is made longer than that, so that the time in which vLLM
# is lent would show if it were counted.
printf '#!/bin/sh\ncase "$*" in *"-m longhaul_trainer") sleep 30 ;; esac\nexec "%s" "$@"\n' "$trainer" >"$work/python"
chmod +x "$work/python"

# config RUN UPDATES SHARE writes the run's configuration. The episodes of a random model earn nothing: what tells them apart is how
# much they say.
config() {
  cat >"$work/$1.yaml" <<YAML
name: $1
env: {use: orders, max_turns: 3, turn_timeout: 30s}
policy: {use: openai, url: "$url/v1", model: base, base: "$work/model", publish: lora, adapters: "$work/adapters", share_gpu: $3}
sampling: {max_tokens: 48}
group: {size: 4, per_update: 4, per_activity: 2}
reward: {use: cost}
update: {use: local, learning_rate: 1e-2, minibatches: 1, ramp: 0, kl_stop: 0, lora_rank: 8, local: {python: "$work/python"}}
updates: $2
eval: {every: 0, tasks: 4}
YAML
}
longhaul() { "$longhaul" "$@" --data "$work/data"; }
# train RUN trains it, beside what follows.
train() {
  PYTHONPATH=$PWD/trainer "$longhaul" train -f "$work/$1.yaml" --data "$work/data" >"$work/$1.log" 2>&1 &
  run=$! name=$1
}
# trained waits for the run's end.
trained() { wait "$run" || { tail -20 "$work/$name.log" >&2; exit 1; }; }
# until_so COMMAND waits until it holds, while the run goes on.
until_so() {
  until "$@"; do
    kill -0 "$run" 2>/dev/null || { echo "the run ended before $*" >&2; tail -20 "$work/$name.log" >&2; exit 1; }
    sleep .2
  done
}
tells() { longhaul status "$name" --json 2>/dev/null | grep -qE "$1"; }
line() { longhaul status "$name" 2>/dev/null | grep -E "^($1)" || true; }
paused() { curl -sf "$url/is_paused" | grep -q true; }
# plays VERSION: vLLM was asked for a turn of it. That is looked up in its log, since what vLLM is at in this moment is soon over.
plays() { grep -q "Received request.*lora_name='$1'" "$work/vllm.log"; }
# asked is how many requests have come to vLLM.
asked() { grep -c 'Received request' "$work/vllm.log"; }
# evaluate begins an evaluation of the run's version 0 at a vLLM that is lent to an update, and sees it wait there.
evaluate() {
  until_so paused
  say "update 1 of $name has vLLM's machine: an evaluation of 8 episodes waits"
  local before
  before=$(asked)
  longhaul eval "$name@0" --json >"$work/$name.eval.json" 2>"$work/$name.eval.log" &
  evaluation=$!
  until [ "$(asked)" -ge $((before + 8)) ]; do
    paused || { echo "the update was over before the evaluation asked for anything" >&2; exit 1; }
    sleep .2
  done
  say "its requests are at vLLM"
}
evaluated() { wait "$evaluation" || { tail -20 "$work/$name.eval.log" >&2; exit 1; }; }

config vllm 3 pause
say "training, with share_gpu: pause"
train vllm
evaluate
until_so plays vllm@000001
say "update 2 plays, and the evaluation maybe still: vLLM is killed"
kill -9 -- "-$server"
wait "$server" 2>/dev/null || true
until_so tells '"what": ?"RunTrajectory"'
line 'waiting|server'
serve
ready
say "vLLM is back, and knows no adapter"
until_so plays vllm@000002
curl -sf -X POST "$url/pause?mode=keep" >/dev/null
say "update 3 plays: vLLM is paused by somebody else, for longer than a turn may take"
until_so tells '"state": ?"paused"'
line server
sleep 45
line server
curl -sf -X POST "$url/resume" >/dev/null
evaluated
trained

config nap 1 sleep
say "training, with share_gpu: sleep"
train nap
evaluate
evaluated
trained
paused && { echo "vLLM is paused still" >&2; exit 1; }

say "what is recorded"
longhaul ledger vllm 2>/dev/null
longhaul ledger nap 2>/dev/null
"$vllm" $need/check.py "$longhaul" "$work/data" "$work"
