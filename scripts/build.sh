#!/usr/bin/env bash
# build.sh OUTPUT PACKAGE compiles a program and shows how far it is: the first time it is some 1,800 packages.
set -euo pipefail
output=$1 package=$2
go=${GO:-go}

# Counts lines on stdin that name what it is told ("downloading modules", a total), on one line that is rewritten
# where stderr is a terminal and now and then elsewhere. Lines of any other form are errors: they are passed on.
count() { # pattern, verb, every, total
  local n=0 line live= every=$3
  if [ -t 2 ]; then live=1; else every=$((every * 5)); fi
  while IFS= read -r line; do
    if [[ ! $line =~ $1 ]]; then
      printf '%s%s\n' "${live:+$'\n'}" "$line" >&2
    elif ((++n, n % every == 0)); then
      if [ -n "$live" ]; then printf '\r  %s: %d%s' "$2" "$n" "$4" >&2; else printf '  %s: %d%s\n' "$2" "$n" "$4" >&2; fi
    fi
  done
  if [ -n "$live" ] && ((n >= every)); then echo >&2; fi
}

# The first command downloads what is missing. Only flags of the linker are given to the second: what is compiled
# here is used again by the tests. Packages in the build cache are not compiled again, so the count may end early.
packages=$(mktemp)
trap 'rm -f "$packages"' EXIT
"$go" list -deps "$package" 2>&1 >"$packages" | count '^go: downloading' 'downloading modules' 20 ''
total=$(wc -l <"$packages")
"$go" build -v -ldflags='-s -w' -o "$output" "$package" 2>&1 |
  count '^[a-z0-9][A-Za-z0-9._~/-]*$' 'compiling' 20 " of at most $((total)) packages (minutes the first time)"
