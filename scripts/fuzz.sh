#!/usr/bin/env bash
# fuzz.sh TIME runs every fuzz target of the module for that long, one after the other.
set -euo pipefail
git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | while IFS=: read -r file func; do
  name=${func#func }
  echo "$name in $(dirname "$file"), $1"
  "${GO:-go}" test -run='^$' -fuzz="^$name\$" -fuzztime="$1" "./$(dirname "$file")"
done
