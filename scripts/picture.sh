#!/usr/bin/env bash
# Records the terminal screenshot of the README from a real run.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked -p hermes-cli
export PATH=$PWD/target/release:$PATH HERMES_HOME
HERMES_HOME=$(mktemp -d)
trap 'rm -rf "$HERMES_HOME"' EXIT
python3 scripts/picture.py docs/pictures/first-calls.svg \
  "hermes exec examples/first-calls.json" \
  "hermes tools list --cost"
