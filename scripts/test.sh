#!/usr/bin/env bash
# Runs all tests. Requires only the Rust toolchain, a C compiler and Python;
# cargo-nextest is used if installed. CARGO_CONFIG names a file with additional
# cargo settings.
set -euo pipefail
cd "$(dirname "$0")/.."

skipped=0
skip() {
  echo "skipped: $1" >&2
  skipped=$((skipped + 1))
}

for tool in cargo cc python3; do
  command -v "$tool" >/dev/null || { echo "error: $tool is not installed" >&2; exit 2; }
done
command -v script >/dev/null || skip "terminal tests need 'script' (Debian: bsdutils)"
settings=(--workspace --locked)
[[ -z ${CARGO_CONFIG-} ]] || settings+=(--config "$CARGO_CONFIG")

# External components for the tests, started on loopback and stopped on exit.
# `COMPONENTS=` starts none.
running=$(mktemp -d "${TMPDIR:-/tmp}/hermes-test.XXXXXX")
names=() pids=()
finish() {
  # A component can only be stopped once it has started.
  wait "${pids[@]}" 2>/dev/null || true
  for name in "${names[@]}"; do
    scripts/components/"$name".sh stop "$(home_of "$name")" >/dev/null 2>&1 || true
  done
  rm -rf "$running"
}
# Components that only install files are kept for the next run.
home_of() {
  case $1 in
    code | mcp) echo "$PWD/target/components/$1" ;;
    *) echo "$running/$1" ;;
  esac
}
trap finish EXIT
# They start concurrently and may contend for the apt lock.
echo 'DPkg::Lock::Timeout "300";' >"$running/apt.conf"
for name in ${COMPONENTS-docker sshd code mcp go}; do
  mkdir -p "$(home_of "$name")"
  APT_CONFIG=$running/apt.conf scripts/components/"$name".sh start "$(home_of "$name")" \
    >"$running/$name.env" </dev/null &
  names+=("$name") pids+=($!)
done

# A test reads the licences of all dependencies, including those of other
# platforms.
cargo fetch --locked --quiet || skip "cannot fetch the dependencies of other platforms"

# nextest does not run doctests.
cargo test "${settings[@]}" --doc --quiet

has_nextest=$(cargo nextest --version 2>/dev/null) ||
  skip "cargo-nextest is not installed (cargo install cargo-nextest --locked); using cargo test"
if [[ -n $has_nextest ]]; then
  cargo nextest run "${settings[@]}" --no-run
else
  cargo test "${settings[@]}" --lib --bins --tests --no-run
fi

for at in "${!names[@]}"; do
  if wait "${pids[at]}"; then
    # shellcheck disable=SC1090
    . "$running/${names[at]}.env"
  else
    skip "tests that need the component ${names[at]}"
  fi
done

if [[ -n $has_nextest ]]; then
  # One more than the number of CPUs: many tests are mostly idle.
  export NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS-$(($(getconf _NPROCESSORS_ONLN) + 1))}
  cargo nextest run "${settings[@]}" "$@"
else
  cargo test "${settings[@]}" --lib --bins --tests
fi

# The official MCP conformance suite, for our server and client.
if [[ -n ${COMPONENTS-all} ]]; then
  scripts/conformance.sh || {
    status=$?
    ((status == 77)) || exit "$status"
    skip "the MCP conformance suite"
  }
fi
echo "components skipped: $skipped"
