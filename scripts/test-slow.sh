#!/usr/bin/env bash
# Runs the tests of what takes minutes to set up: Apptainer. What was fetched
# stays in a folder outside of the repository for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${HERMES_SLOW_FOLDER:-/var/tmp/hermes-slow}
mkdir -p "$folder"
trap 'scripts/components/apptainer.sh stop "$folder" >/dev/null 2>&1 || true' EXIT
variables=$(scripts/components/apptainer.sh start "$folder")
eval "$variables"
cargo nextest run -p hermes-exec --locked singularity "$@"
