#!/usr/bin/env bash
# Runs every test. Nothing beyond the Rust toolchain, a C compiler and Python
# is needed; cargo-nextest is used where it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "skipped: $1" >&2; }

for tool in cargo cc python3; do
  command -v "$tool" >/dev/null || { echo "error: $tool is not installed" >&2; exit 2; }
done
command -v script >/dev/null || skip "terminal tests need 'script' (Debian: bsdutils)"

# What tests need of the world: started here, on loopback, and ended with us.
# `COMPONENTS=` starts none.
running=$(mktemp -d "${TMPDIR:-/tmp}/hermes-test.XXXXXX")
started=()
finish() {
  for name in "${started[@]}"; do
    scripts/components/"$name".sh stop "$(home_of "$name")" >/dev/null 2>&1 || true
  done
  rm -rf "$running"
}
# What is only installed stays for the next time.
home_of() { [[ $1 == code ]] && echo "$PWD/target/components/code" || echo "$running/$1"; }
trap finish EXIT
for name in ${COMPONENTS-docker sshd code}; do
  mkdir -p "$(home_of "$name")"
  if variables=$(scripts/components/"$name".sh start "$(home_of "$name")"); then
    started+=("$name")
    eval "$variables"
  else
    skip "tests that need $name"
  fi
done

# The licences of all dependencies are read, also those of other systems.
cargo fetch --locked --quiet || skip "dependencies of other systems could not be fetched"

# nextest does not run the examples in the documentation.
cargo test --workspace --locked --doc --quiet

if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --workspace --locked "$@"
else
  skip "cargo-nextest is not installed (cargo install cargo-nextest --locked); using cargo test"
  cargo test --workspace --locked --lib --bins --tests
fi
