#!/usr/bin/env bash
# Runs our MCP server and client against the official conformance suite of the
# Model Context Protocol, for both protocol versions. Dependencies are installed
# once, under target/.
#
#   conformance.sh [server] [client]    both by default; prints one line per run
#                                       and the failed checks; exits with 77 and
#                                       a reason if the suite is unavailable.
#                                       CONFORMANCE_BUILT=1 skips the build
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=(node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12)
VERSIONS=(2025-11-25 2026-07-28)
# The scenarios of the tasks extension that need no special fixture tools.
TASKS=(
  tasks-capability-negotiation
  tasks-wire-fields
  tasks-request-state-removal
  tasks-mrtr-input
  tasks-request-headers
  tasks-dispatch-and-envelope
)

dir=$PWD/target/conformance
skip() {
  echo "skipped: $1" >&2
  exit 77
}

install() {
  [[ -e $dir/installed && $(cat "$dir/installed") == "${PACKAGES[*]}" ]] && return
  command -v npm >/dev/null || skip "the conformance suite needs npm"
  mkdir -p "$dir"
  (cd "$dir" && npm install --silent --no-audit --no-fund --prefix . "${PACKAGES[@]}") \
    >"$dir/npm.log" 2>&1 || skip "npm cannot install ${PACKAGES[*]}"
  echo "${PACKAGES[*]}" >"$dir/installed"
}

suite() {
  "$dir/node_modules/.bin/node" \
    "$dir/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"
}

# check NAME ARGUMENTS...: runs the suite once and prints the result.
bad=0
check() {
  local name=$1 log=$dir/$1.log good wrong
  shift
  suite "$@" -o "$dir/out/$name" >"$log" 2>&1 || true
  good=$(grep -cE '^(✓|✅)' "$log" || true)
  wrong=$(grep -cE '^(✗|❌)' "$log" || true)
  # A run of a single scenario prints only the totals.
  if ((good + wrong == 0)) && grep -qE '^Passed: ([1-9][0-9]*)/\1, 0 failed' "$log"; then good=1; fi
  printf '%-28s %3d ok %3d bad   %s\n' "$name" "$good" "$wrong" \
    "$(grep -E '^(Total|Passed):' "$log" || true)"
  if ((good == 0)); then
    bad=1
    tail -n 20 "$log"
  fi
  if ((wrong)); then
    bad=1
    grep -E '^(✗|❌)' "$log" | sed 's/^/  /'
  fi
}

server=
finish() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
}
trap finish EXIT

check_server() {
  rm -f "$dir/server.url"
  target/debug/examples/conformance_server >"$dir/server.url" 2>"$dir/server.err" &
  server=$!
  for _ in {1..500}; do
    [[ ! -s $dir/server.url ]] || break
    kill -0 "$server" 2>/dev/null || { cat "$dir/server.err" >&2; exit 1; }
    sleep 0.02
  done
  local url version name
  url=$(cat "$dir/server.url")
  for version in "${VERSIONS[@]}"; do
    check "server-$version" server --url "$url" --suite all --spec-version "$version"
  done
  for name in "${TASKS[@]}"; do
    check "$name" server --url "$url" --scenario "$name"
  done
  kill "$server"
  wait "$server" || true
  server=
}

check_client() {
  local version
  for version in "${VERSIONS[@]}"; do
    check "client-$version" client --command "$PWD/target/debug/examples/conformance_client" \
      --suite all --spec-version "$version"
  done
  check client-password client --command "$PWD/target/debug/examples/conformance_client" \
    --scenario auth/client-credentials-basic
}

parts=("$@")
((${#parts[@]})) || parts=(server client)
install
# Same features as the test build.
settings=(--quiet --locked --workspace)
[[ -z ${CARGO_CONFIG-} ]] || settings+=(--config "$CARGO_CONFIG")
for part in "${parts[@]}"; do
  settings+=(--example "conformance_$part")
done
[[ -n ${CONFORMANCE_BUILT-} ]] || cargo build "${settings[@]}"
for part in "${parts[@]}"; do
  case $part in
    server | client) "check_$part" ;;
    *) echo "usage: $0 [server] [client]" >&2; exit 2 ;;
  esac
done
exit "$bad"
