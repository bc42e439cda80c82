#!/usr/bin/env bash
# Runs every test. Nothing beyond the Rust toolchain, a C compiler and Python
# is needed; cargo-nextest is used where it is installed. CARGO_CONFIG names a
# file of more settings for cargo.
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

# What tests need of the world: started here, on loopback, and ended with us.
# `COMPONENTS=` starts none.
running=$(mktemp -d "${TMPDIR:-/tmp}/hermes-test.XXXXXX")
names=() pids=()
finish() {
  # One that is still starting could not be stopped.
  wait "${pids[@]}" 2>/dev/null || true
  for name in "${names[@]}"; do
    scripts/components/"$name".sh stop "$(home_of "$name")" >/dev/null 2>&1 || true
  done
  rm -rf "$running"
}
# What is only installed stays for the next time.
home_of() {
  case $1 in
    code | mcp) echo "$PWD/target/components/$1" ;;
    *) echo "$running/$1" ;;
  esac
}
trap finish EXIT
# They start side by side, and may all want apt.
echo 'DPkg::Lock::Timeout "300";' >"$running/apt.conf"
for name in ${COMPONENTS-docker sshd code mcp go}; do
  mkdir -p "$(home_of "$name")"
  APT_CONFIG=$running/apt.conf scripts/components/"$name".sh start "$(home_of "$name")" \
    >"$running/$name.env" </dev/null &
  names+=("$name") pids+=($!)
done

# The licences of all dependencies are read, also those of other systems.
cargo fetch --locked --quiet || skip "dependencies of other systems could not be fetched"

# nextest does not run the examples in the documentation.
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
    skip "tests that need ${names[at]}"
  fi
done

if [[ -n $has_nextest ]]; then
  # One more than there are processors: many tests wait more than they work.
  export NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS-$(($(getconf _NPROCESSORS_ONLN) + 1))}
  cargo nextest run "${settings[@]}" "$@"
else
  cargo test "${settings[@]}" --lib --bins --tests
fi

# The official suite of the Model Context Protocol, for our server and client.
if [[ -n ${COMPONENTS-all} ]]; then
  scripts/conformance.sh || {
    status=$?
    ((status == 77)) || exit "$status"
    skip "the conformance suite of the Model Context Protocol"
  }
fi
echo "components skipped: $skipped"
