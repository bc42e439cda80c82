#!/usr/bin/env bash
# Third-party MCP servers and clients for tests, in a separate directory.
#
#   mcp.sh start DIR   prints `export NAME='value'` lines; exits with 77 and a
#                      reason if they are unavailable on this machine
#   mcp.sh stop DIR    does nothing: no process runs
#
# Keeps an existing installation unchanged. Without npm, the npm servers are
# omitted and their tests skip themselves.
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

# Requires a newer Node than many systems provide.
INSPECTOR=(
  node@22
  @modelcontextprotocol/inspector@2.12.0
)

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# has_installed SUBDIR PACKAGE...: whether exactly these packages are installed.
has_installed() {
  local marker=$dir/$1/installed
  shift
  [[ -e $marker && $(cat "$marker") == "$*" ]]
}

python() {
  has_installed venv "${PYTHON[@]}" && return
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 -m venv "$dir/venv" >"$dir/venv.log" 2>&1 ||
    skip "python3 cannot create a venv (Debian: python3-venv)"
  "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON[@]}" \
    >"$dir/pip.log" 2>&1 || skip "pip cannot install ${PYTHON[*]}"
  echo "${PYTHON[*]}" >"$dir/venv/installed"
}

# node SUBDIR PACKAGE...: installs the packages from npm.
node() {
  local subdir=$1
  shift
  has_installed "$subdir" "$@" && return
  command -v npm >/dev/null || { echo "skipped: npm is not installed" >&2; return; }
  mkdir -p "$dir/$subdir"
  if (cd "$dir/$subdir" && npm install --silent --no-audit --no-fund --prefix . "$@") \
    >"$dir/npm.log" 2>&1; then
    echo "$*" >"$dir/$subdir/installed"
  else
    echo "skipped: npm cannot install $*" >&2
  fi
}

start() {
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  python
  node node "${NODE[@]}"
  node inspector "${INSPECTOR[@]}"
  printf "export %s='%s'\n" \
    HERMES_TEST_MCP_PYTHON "$dir/venv" \
    HERMES_TEST_MCP_NODE "$dir/node/node_modules" \
    HERMES_TEST_MCP_INSPECTOR "$dir/inspector/node_modules"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
