#!/usr/bin/env bash
# tinker.sh [DIR] trains with a real service of the Tinker API, SkyRL on the CPU, while its engine is killed and its answers are lost,
# and checks that every update is applied once. What is written stays in DIR. It needs uv and a Python 3.12 (PYTHON: its path);
# 5.7 GB are installed the first time.
set -euo pipefail
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
cd "$(dirname "$0")/.."
need=scripts/tinker
command -v uv >/dev/null || { echo "uv is needed: pip install uv" >&2; exit 1; }

# The environment is kept under a name that changes with its pins; an interrupted install is made again.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul-tinker
venv=$cache/$(cat $need/requirements.txt | sha256sum | cut -c1-16)
if [ ! -e "$venv/complete" ]; then
  echo "installing SkyRL (5.7 GB)"
  rm -rf "$venv"
  uv venv --quiet -p "${PYTHON:-3.12}" "$venv"
  uv pip install --quiet -p "$venv/bin/python" --require-hashes --no-deps -r $need/requirements.txt
  touch "$venv/complete"
fi

export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH CUDA_VISIBLE_DEVICES= JAX_PLATFORMS=cpu HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
echo "everything that is written: $work"
"${GO:-go}" run ./$need -work "$work" -longhaul bin/longhaul
