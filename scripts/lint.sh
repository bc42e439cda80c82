#!/usr/bin/env bash
# Checks formatting, clippy and rustdoc; warnings are errors. `lint.sh text` runs
# only the checks that need no compilation.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo fmt --all --check
# The tools are modules of a generated file, which cargo fmt does not follow.
find crates/tools -path '*/src/tools/*' -name '*.rs' -print0 \
  | xargs -0 rustfmt --edition 2024 --check --config use_small_heuristics=Max
if command -v cargo-deny >/dev/null; then
  cargo deny --offline check bans licenses sources
else
  echo "skipped: cargo-deny is not installed; licences and layers are checked by the tests" >&2
fi
if [[ ${1-} == text ]]; then exit 0; fi
cargo clippy --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
