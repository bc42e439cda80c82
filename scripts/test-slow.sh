#!/usr/bin/env bash
# Runs the tests whose components take minutes to set up, and the tests that take
# minutes themselves. Downloads are kept in HERMES_SLOW_DIR for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${HERMES_SLOW_DIR:-/var/tmp/hermes-slow}
mkdir -p "$dir"
lines=$(mktemp)
started=()
end() {
  for name in "${started[@]}"; do scripts/components/"$name".sh stop "$dir/$name"; done
  rm -f "$lines"
}
trap end EXIT

# tests CRATE FILTER: runs the matching integration tests of one crate, with the
# features of the whole workspace.
settings=(--locked --workspace)
[[ -z ${CARGO_CONFIG:-} ]] || settings+=(--config "$CARGO_CONFIG")
tests() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run "${settings[@]}" -E "package($1) & binary(it) & test($2)"
  else
    cargo test --locked -p "$1" --test it "$2"
  fi
}

# ignored CRATE FILTER: runs the matching tests that `make test` ignores.
ignored() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run "${settings[@]}" --run-ignored only -E "package($1) & binary(it) & test($2)"
  else
    cargo test --locked -p "$1" --test it "$2" -- --ignored
  fi
}

# with COMPONENT CRATE FILTER: like `tests`, with a component running. Skips the
# tests if the component is unavailable; it has printed the reason.
with() {
  local status=0
  # Not in a pipe: a daemon that it starts would keep the pipe open.
  scripts/components/"$1".sh start "$dir/$1" >"$lines" || status=$?
  if ((status == 77)); then return 0; fi
  if ((status != 0)); then return "$status"; fi
  started+=("$1")
  # shellcheck disable=SC1090
  . "$lines"
  tests "$2" "$3"
}

# A failure does not stop the remaining suites.
failed=0
with apptainer hermes-exec singularity:: || failed=1
with figures hermes-repl rich:: || failed=1
with model hermes-cli real_model:: || failed=1
HERMES_KILLS=${HERMES_KILLS:-200} tests hermes-cli killed:: || failed=1
HERMES_KILLS=${HERMES_KILLS:-60} tests hermes-checkpoints killed:: || failed=1
# Tests without their program skip themselves.
scripts/components/everyday.sh start "$dir/everyday" || true
ignored hermes-cli everyday:: || failed=1
exit "$failed"
