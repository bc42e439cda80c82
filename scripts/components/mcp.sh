#!/usr/bin/env bash
# Other people's MCP servers and clients for tests, in a folder of their own.
#
#   mcp.sh start DIR   prints `export NAME='value'` lines; 77 and a reason if
#                      they cannot be had on this machine
#   mcp.sh stop DIR    nothing runs, so there is nothing to end
#
# What is there already is left as it is. The npm servers are left out where
# npm cannot be used: their tests skip by themselves.
set -euo pipefail

PYTHON=(
  mcp==2.3.0
  mcp-server-fetch==2026.10.24
  mcp-server-git==2026.10.19
  mcp-server-time==2026.10.19
)
NODE=(
  @modelcontextprotocol/server-everything@2026.8.31
  @modelcontextprotocol/server-filesystem@2026.8.31
  @modelcontextprotocol/server-memory@2026.8.31
)

# It wants a newer Node than many systems have.
INSPECTOR=(
  node@22
  @modelcontextprotocol/inspector@2.12.0
)

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# has_installed PLACE TOOL...: whether just these have been put there before.
has_installed() {
  local place=$folder/$1/installed
  shift
  [[ -e $place && $(cat "$place") == "$*" ]]
}

python() {
  has_installed venv "${PYTHON[@]}" && return
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 -m venv "$folder/venv" >"$folder/venv.log" 2>&1 ||
    skip "python3 cannot make a venv (Debian: python3-venv)"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON[@]}" \
    >"$folder/pip.log" 2>&1 || skip "pip cannot install ${PYTHON[*]}"
  echo "${PYTHON[*]}" >"$folder/venv/installed"
}

# node PLACE PACKAGE...: these from npm.
node() {
  local place=$1
  shift
  has_installed "$place" "$@" && return
  command -v npm >/dev/null || { echo "left out: npm is not installed" >&2; return; }
  mkdir -p "$folder/$place"
  if (cd "$folder/$place" && npm install --silent --no-audit --no-fund --prefix . "$@") \
    >"$folder/npm.log" 2>&1; then
    echo "$*" >"$folder/$place/installed"
  else
    echo "left out: npm cannot install $*" >&2
  fi
}

start() {
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd -P)
  python
  node node "${NODE[@]}"
  node inspector "${INSPECTOR[@]}"
  printf "export %s='%s'\n" \
    HERMES_TEST_MCP_PYTHON "$folder/venv" \
    HERMES_TEST_MCP_NODE "$folder/node/node_modules" \
    HERMES_TEST_MCP_INSPECTOR "$folder/inspector/node_modules"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
