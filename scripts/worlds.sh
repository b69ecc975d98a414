#!/usr/bin/env bash
# Makes what the tests of environments need of other languages, and prints the directory that it lies in, and nothing else: for each NAME a
# directory NAME, with a Python environment of scripts/worlds/NAME.txt (bin/python) and the node_modules of
# scripts/worlds/NAME/package-lock.json, whichever there is. Made once for these pins, in the user's cache.
# Usage: worlds.sh NAME... LONGHAUL_PYTHON names the interpreter (python3, 3.11 or newer).
set -euo pipefail
cd "$(dirname "$0")/worlds"

python=$("${LONGHAUL_PYTHON:-python3}" -c 'import sys; print(sys.executable)') # its own path: uv takes no shims
cache=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul
if [ -n "${PIP_INDEX_URL:-}" ]; then export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}; fi

# uv makes environments in seconds.
find_uv() {
  uv=$(command -v uv || true)
  if [ -z "$uv" ]; then
    if [ ! -e "$cache/uv/bin/uv" ]; then
      "$python" -m venv "$cache/uv"
      "$cache/uv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r ../uv/requirements.txt >&2
    fi
    uv=$cache/uv/bin/uv
  fi
}

all=$cache/worlds
mkdir -p "$all"
for name in "$@"; do
  if [ ! -e "$name.txt" ] && [ ! -e "$name/package-lock.json" ]; then
    echo "worlds.sh: there is neither scripts/worlds/$name.txt nor scripts/worlds/$name/package-lock.json" >&2
    exit 1
  fi
  exec 9>"$all/$name.lock"
  if command -v flock >/dev/null; then flock 9; fi # two that install the same at once
  pins=$( ("$python" --version; cat "$name.txt" "$name/package-lock.json" 2>/dev/null || true) | sha256sum | cut -c1-16)
  dir=$all/$name
  if [ "$(cat "$dir/complete" 2>/dev/null)" = "$pins" ]; then continue; fi
  echo "tests of environments: what $name needs is installed, once, in $dir" >&2
  rm -rf "$dir" # an interrupted install, or one of other pins
  mkdir -p "$dir"
  if [ -e "$name.txt" ]; then
    find_uv
    "$uv" venv --quiet --allow-existing --python "$python" "$dir"
    "$uv" pip install --quiet --python "$dir/bin/python" --require-hashes --no-deps -r "$name.txt" # a list is whole, or leaves out what is not needed
  fi
  if [ -e "$name/package-lock.json" ]; then
    cp "$name/package.json" "$name/package-lock.json" "$dir"
    (cd "$dir" && npm ci --loglevel=error --no-fund --no-audit >&2)
  fi
  echo "$pins" > "$dir/complete"
done
asked=$cache/worlds-$(IFS=+; echo "$*") # what others have asked for is no part of these tests
mkdir -p "$asked"
for name in "$@"; do ln -sfn "$all/$name" "$asked/$name"; done
echo "$asked"
