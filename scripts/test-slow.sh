#!/usr/bin/env bash
# Runs the tests of components that take minutes to set up, and those that take
# minutes themselves. What was fetched is kept for the next time, in
# HERMES_SLOW_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${HERMES_SLOW_DIR:-/var/tmp/hermes-slow}
mkdir -p "$folder"
lines=$(mktemp)
started=()
end() {
  for name in "${started[@]}"; do scripts/components/"$name".sh stop "$folder/$name"; done
  rm -f "$lines"
}
trap end EXIT

# tests CRATE FILTER: one crate's integration tests of that name, built as the
# others are.
settings=(--locked --workspace)
[[ -z ${CARGO_CONFIG:-} ]] || settings+=(--config "$CARGO_CONFIG")
tests() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run "${settings[@]}" -E "package($1) & binary(it) & test($2)"
  else
    cargo test --locked -p "$1" --test it "$2"
  fi
}

# ignored CRATE FILTER: those of that name that `make test` leaves out.
ignored() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run "${settings[@]}" --run-ignored only -E "package($1) & binary(it) & test($2)"
  else
    cargo test --locked -p "$1" --test it "$2" -- --ignored
  fi
}

# with COMPONENT CRATE FILTER: as `tests`, with a component running. One that
# cannot be had here has said why.
with() {
  local status=0
  # Not in a pipe: what it starts must not hold the end of one.
  scripts/components/"$1".sh start "$folder/$1" >"$lines" || status=$?
  if ((status == 77)); then return 0; fi
  if ((status != 0)); then return "$status"; fi
  started+=("$1")
  # shellcheck disable=SC1090
  . "$lines"
  tests "$2" "$3"
}

# One that fails is no reason to leave the others out.
failed=0
with apptainer hermes-exec singularity:: || failed=1
with figures hermes-repl rich:: || failed=1
with model hermes-cli real_model:: || failed=1
HERMES_KILLS=${HERMES_KILLS:-200} tests hermes-cli killed:: || failed=1
HERMES_KILLS=${HERMES_KILLS:-60} tests hermes-checkpoints killed:: || failed=1
# Rows without their program say so themselves.
scripts/components/everyday.sh start "$folder/everyday" || true
ignored hermes-cli everyday:: || failed=1
exit "$failed"
