#!/usr/bin/env bash
# Prints the directory of the Python environment that the tests use, pinned in .ci/requirements.txt: the trainer with PyTorch, and
# the servers of the store and of Temporal as processes of their own. Makes it where it is not there: once for these pins, in the
# user's cache. LONGHAUL_PYTHON names the interpreter (python3, 3.11 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."

python=$("${LONGHAUL_PYTHON:-python3}" -c 'import sys; print(sys.executable)') # its own path: uv takes no shims
cache=${XDG_CACHE_HOME:-$HOME/.cache}/longhaul
env=$cache/python-$( ("$python" --version; cat .ci/requirements.txt) | sha256sum | cut -c1-16)

if [ ! -e "$env/complete" ]; then # an interrupted install is made again
  echo "the tests of the trainer need PyTorch: about 5.3 GB are installed, once, in $env (make test-go leaves them out)" >&2
  rm -rf "$env"
  if [ -n "${PIP_INDEX_URL:-}" ]; then export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}; fi
  uv=$(command -v uv || true)
  if [ -z "$uv" ]; then
    "$python" -m venv "$cache/uv"
    "$cache/uv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r scripts/uv/requirements.txt >&2
    uv=$cache/uv/bin/uv
  fi
  "$uv" venv --quiet --python "$python" "$env"
  "$uv" pip install --quiet --python "$env/bin/python" --require-hashes -r .ci/requirements.txt
  touch "$env/complete"
fi
if [ ! -e "$env/compiled" ]; then # uv leaves that to the first import; under PYTHONDONTWRITEBYTECODE each start of PyTorch would do it anew
  "$env/bin/python" -m compileall -q -j 0 "$env/lib" >/dev/null 2>&1 || true # files for other Pythons are among them
  touch "$env/compiled"
fi
echo "$env"
