#!/usr/bin/env bash
# agents.sh DIR [NAME...] trains the agents of examples/agents, each for two updates, with the embedded policy as their OpenAI
# endpoint. Each is trained twice from one start: once as it is, and once with kill -9 of longhaul in the middle of an episode. The
# process after that must give agents recorded answers, and both runs must end with the same trajectories and the same checkpoint, byte
# by byte. Nothing may be left running. All of it stays in DIR. Needs bin/longhaul, and what scripts/worlds.sh agents installs.
set -euo pipefail
work=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
longhaul=$PWD/bin/longhaul
worlds=$(scripts/worlds.sh agents)
say() { printf '%s %s\n' "$(date +%T)" "$*"; }
trap 'kill -9 -- "-${run:-}" 2>/dev/null || true' EXIT

rm -rf "$work/examples" && cp -r examples/agents "$work/examples" && ln -s "$worlds/agents/node_modules" "$work/examples/node_modules"
python=$worlds/agents/bin/python
node=$worlds/agents/node_modules/.bin/tsx
declare -A command=(
  [openai-agents]="$python openai_agents.py" [openai-agents-stream]="$python openai_agents.py --stream"
  [langgraph]="$python langgraph_agent.py" [pydantic-ai]="$python pydantic_agent.py" [smolagents]="$python smol_agent.py"
  [openai-agents-js]="$node openai_agents.ts" [ai]="$node vercel_ai.ts"
)
names=${*:-openai-agents openai-agents-stream langgraph pydantic-ai smolagents openai-agents-js ai}

# The policy that they begin with knows the order desk a little.
if [ ! -e "$work/start/done" ]; then
  say "a policy for the order desk is warmed up"
  cat >"$work/desk.yaml" <<YAML
name: desk
env: {use: orders}
warm_up: {max: 500, extra: 200}
group: {size: 4, per_update: 4}
updates: 1
eval: {every: 0}
YAML
  rm -rf "$work/start" && "$longhaul" train -f "$work/desk.yaml" --data "$work/start" --quiet >/dev/null
  touch "$work/start/done"
fi

# The desk takes a while for each answer, and notes the question in the episode's directory: then the episode is in its middle.
export DESK_SECONDS=1 LONGHAUL_LOG=warn
train() {
  TMPDIR=$work/$1/$2.tmp setsid "$longhaul" train -f "$work/$1/run.yaml" --data "$work/$1/$2" --json --quiet >"$work/$1/$2.out" 2>>"$work/$1/$2.log" &
  run=$!
}
asked() { find "$work/$1/$2.tmp" -name desk.log 2>/dev/null | grep -q .; }
records() { "$python" scripts/agents_records.py "$longhaul" "$1" "$work/$1/$2"; }
checkpoint() { grep -o '"checkpoint":{[^}]*}' "$work/$1/$2.out" | tail -1; }

for name in $names; do
  rm -rf "${work:?}/$name" && mkdir "$work/$name"
  cat >"$work/$name/run.yaml" <<YAML
name: $name
env:
  use: agent
  tasks: {train: 0-47, eval: 0-15}
  max_turns: 12
  episode_timeout: 5m
  agent: {command: "${command[$name]}", directory: $work/examples, tasks: $work/examples/tasks.jsonl, check: python3 check.py, env: DESK_SECONDS=DESK_SECONDS}
from: desk@000001
policy: {concurrency: 4}
group: {size: 2, per_update: 2}
advantage: {zero_variance: keep}
updates: 2
eval: {every: 0}
YAML
  for kind in whole killed; do cp -r "$work/start" "$work/$name/$kind" && mkdir "$work/$name/$kind.tmp"; done
  say "$name"
  train "$name" whole
  wait "$run" || { tail -5 "$work/$name/whole.log"; exit 1; }
  train "$name" killed
  until asked "$name" killed; do
    kill -0 "$run" 2>/dev/null || { say "$name: it ended without a question to the desk"; tail -5 "$work/$name/killed.log"; exit 1; }
    sleep 0.2
  done
  kill -9 -- "-$run"
  wait "$run" 2>/dev/null || true
  train "$name" killed
  wait "$run" || { tail -5 "$work/$name/killed.log"; exit 1; }
  again=$(grep -c 'given the answers on record' "$work/$name/killed.log") || { say "$name: no agent was given recorded answers"; exit 1; }
  for kind in whole killed; do
    "$longhaul" verify "$name" --data "$work/$name/$kind" --quiet >/dev/null
    records "$name" "$kind" >"$work/$name/$kind.records"
  done
  cmp "$work/$name/whole.records" "$work/$name/killed.records"
  [ "$(checkpoint "$name" whole)" = "$(checkpoint "$name" killed)" ] || { say "$name: $(checkpoint "$name" whole) and $(checkpoint "$name" killed)"; exit 1; }
  say "$name: $again agents were given recorded answers; $(tail -1 "$work/$name/killed.records"); $(checkpoint "$name" killed), as without the kill"
done
left=$(grep -lzs "^TMPDIR=$work/.*/longhaul-children-" /proc/[0-9]*/environ | wc -l) || true
dirs=$(find "$work" -path '*/longhaul-children-*/*' | wc -l)
say "$left processes of agents are left, and $dirs files or directories"
[ "$left" = 0 ] && [ "$dirs" = 0 ]
