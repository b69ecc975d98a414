#!/usr/bin/env bash
# textworld.sh DIR trains the embedded policy for ten updates on TextWorld's coin collector, small games among larger ones, after a
# short warm-up on small ones. The run stays in DIR; the same command goes on with it. Some ten minutes on 2 cores.
set -euo pipefail
mkdir -p "$1"
work=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
python=$(scripts/worlds.sh textworld)/textworld/bin/python

cat >"$work/run.yaml" <<YAML
name: textworld
env:
  use: process
  tasks: {train: 0-9999, eval: 0-99}
  max_turns: 10
  process:
    command: exec $python $PWD/examples/process/textworld_world.py --levels 1-5 --warm-up 1-2
    episodes: 32
    start_timeout: 10m
policy: {use: tiny, width: 96, layers: 3, hidden: 256, context: 1024}
warm_up: {max: 200, extra: 40, gate: 0.9, batch: 16}
sampling: {max_tokens: 24, seed: 1}
group: {size: 8, per_update: 32}
update: {minibatches: 4}
updates: 10
eval: {every: 10, tasks: 100}
YAML
bin/longhaul train -f "$work/run.yaml" --data "$work/data"
