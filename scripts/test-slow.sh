#!/usr/bin/env bash
# Runs the tests of components that take minutes to set up. What was fetched is
# kept for the next time, in HERMES_SLOW_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${HERMES_SLOW_DIR:-/var/tmp/hermes-slow}
mkdir -p "$folder"
lines=$(mktemp)
end() {
  scripts/components/apptainer.sh stop "$folder/apptainer"
  rm -f "$lines"
}
trap end EXIT

# Not in a pipe: what it starts must not hold the end of one.
status=0
scripts/components/apptainer.sh start "$folder/apptainer" >"$lines" || status=$?
if ((status == 77)); then exit 0; fi
if ((status != 0)); then exit "$status"; fi
# shellcheck disable=SC1090
. "$lines"

if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --locked -p hermes-exec --test it singularity:: "$@"
else
  cargo test --locked -p hermes-exec --test it singularity::
fi
