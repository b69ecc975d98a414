#!/usr/bin/env bash
# Prints the Python that has vLLM for the CPU, pinned in requirements.txt. Makes its environment where it is not there (6 GB, some
# minutes): once for these pins, in the user's cache. It takes a Linux machine with Python 3.12 (PYTHON3_12 names it).
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON3_12:-python3.12}
env=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul-vllm/$( ("$python" --version; cat requirements.txt) | sha256sum | cut -c1-16)
if [ ! -e "$env/complete" ]; then # an interrupted install is made again
  echo "vLLM needs about 6 GB, which are installed, once, in $env" >&2
  rm -rf "$env"
  "$python" -m venv "$env"
  "$env/bin/pip" install --quiet --no-cache-dir --no-compile --no-deps --require-hashes -r requirements.txt
  touch "$env/complete"
fi
echo "$env/bin/python"
