#!/usr/bin/env bash
# Writes the files that are generated from the registry and the manifests, or
# checks that they are current (--check). HERMES_PROGRAM names a built hermes.
set -euo pipefail
cd "$(dirname "$0")/.."

check=${1:-}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HERMES_HOME=$home
hermes() {
  if [[ -n ${HERMES_PROGRAM-} ]]; then
    "$HERMES_PROGRAM" "$@"
  else
    cargo run --quiet --locked -p hermes-cli -- "$@"
  fi
}

make_file() { # path, command
  local path=$1 new
  shift
  new=$home/new
  "$@" >"$new"
  if [ "$check" = --check ]; then
    diff -u "$path" "$new" || { echo "error: $path is not current; run 'make docs'" >&2; exit 1; }
  else
    cp "$new" "$path"
  fi
}

make_file crates/README.md python3 scripts/layers.py
make_file crates/cli/data/tokens.tsv hermes tools tokens
make_file docs/tools.md hermes tools reference
make_file docs/settings.md hermes config reference
make_file docs/protected-places.md hermes permissions places
