#!/usr/bin/env bash
# Puts our server and our client through the official conformance suite of the
# Model Context Protocol, in both of its eras. What that needs is installed
# once, under target/.
#
#   conformance.sh [server] [client]    both unless named; a line for each run,
#                                       then what was bad; 77 and a reason if
#                                       the suite cannot be had here. What is
#                                       built already is used as it is with
#                                       CONFORMANCE_BUILT=1
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=(node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12)
ERAS=(2025-11-25 2026-07-28)
# Of the extension, what needs no fixture that our pipeline could not be.
TASKS=(
  tasks-capability-negotiation
  tasks-wire-fields
  tasks-request-state-removal
  tasks-mrtr-input
  tasks-request-headers
  tasks-dispatch-and-envelope
)

folder=$PWD/target/conformance
skip() {
  echo "skipped: $1" >&2
  exit 77
}

install() {
  [[ -e $folder/installed && $(cat "$folder/installed") == "${PACKAGES[*]}" ]] && return
  command -v npm >/dev/null || skip "the conformance suite needs npm"
  mkdir -p "$folder"
  (cd "$folder" && npm install --silent --no-audit --no-fund --prefix . "${PACKAGES[@]}") \
    >"$folder/npm.log" 2>&1 || skip "npm cannot install ${PACKAGES[*]}"
  echo "${PACKAGES[*]}" >"$folder/installed"
}

suite() {
  "$folder/node_modules/.bin/node" \
    "$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"
}

# check NAME ARGUMENTS...: one run of the suite, and what came of it.
bad=0
check() {
  local name=$1 log=$folder/$1.log good wrong
  shift
  suite "$@" -o "$folder/out/$name" >"$log" 2>&1 || true
  good=$(grep -cE '^(✓|✅)' "$log" || true)
  wrong=$(grep -cE '^(✗|❌)' "$log" || true)
  # Of one scenario only the checks are counted.
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
  rm -f "$folder/server.url"
  target/debug/examples/conformance_server >"$folder/server.url" 2>"$folder/server.err" &
  server=$!
  for _ in {1..500}; do
    [[ ! -s $folder/server.url ]] || break
    kill -0 "$server" 2>/dev/null || { cat "$folder/server.err" >&2; exit 1; }
    sleep 0.02
  done
  local url era name
  url=$(cat "$folder/server.url")
  for era in "${ERAS[@]}"; do
    check "server-$era" server --url "$url" --suite all --spec-version "$era"
  done
  for name in "${TASKS[@]}"; do
    check "$name" server --url "$url" --scenario "$name"
  done
  kill "$server"
  wait "$server" || true
  server=
}

check_client() {
  local era
  for era in "${ERAS[@]}"; do
    check "client-$era" client --command "$PWD/target/debug/examples/conformance_client" \
      --suite all --spec-version "$era"
  done
  check client-password client --command "$PWD/target/debug/examples/conformance_client" \
    --scenario auth/client-credentials-basic
}

parts=("$@")
((${#parts[@]})) || parts=(server client)
install
# With the features of the whole workspace, as the tests are built.
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
