#!/usr/bin/env bash
# Linters, formatters and test runners for tests, in a separate directory.
#
#   code.sh start DIR   prints `export NAME='value'` lines; exits with 77 and a
#                       reason if they are unavailable on this machine
#   code.sh stop DIR    does nothing: no process runs
#
# Keeps an existing installation unchanged.
set -euo pipefail

PYTHON_TOOLS=(ruff black pytest mypy flake8 pylint yamllint clang-format shfmt-py taplo debugpy)
NODE_TOOLS=(eslint prettier jest vitest mocha typescript @biomejs/biome stylelint markdownlint-cli2)

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# has_installed SUBDIR TOOL...: whether exactly these tools are installed there.
has_installed() {
  local marker=$dir/$1/installed
  shift
  [[ -e $marker && $(cat "$marker") == "$*" ]]
}

python_tools() {
  has_installed venv "${PYTHON_TOOLS[@]}" && return
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 -m venv "$dir/venv" >"$dir/venv.log" 2>&1 ||
    skip "python3 cannot create a venv (Debian: python3-venv)"
  "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_TOOLS[@]}" \
    >"$dir/pip.log" 2>&1 || skip "pip cannot install ${PYTHON_TOOLS[*]}"
  echo "${PYTHON_TOOLS[*]}" >"$dir/venv/installed"
}

node_tools() {
  has_installed node "${NODE_TOOLS[@]}" && return
  command -v npm >/dev/null || skip "npm is not installed"
  mkdir -p "$dir/node"
  (cd "$dir/node" && npm install --silent --no-audit --no-fund --prefix . "${NODE_TOOLS[@]}") \
    >"$dir/npm.log" 2>&1 || skip "npm cannot install ${NODE_TOOLS[*]}"
  echo "${NODE_TOOLS[*]}" >"$dir/node/installed"
}

# Optional: the tests that need shellcheck skip themselves without it.
shell_tools() {
  command -v shellcheck >/dev/null && return
  command -v apt-get >/dev/null && ((EUID == 0)) || return 0
  apt-get install -y --no-install-recommends shellcheck </dev/null >"$dir/apt.log" 2>&1 || true
}

# Debug adapters for native programs, also optional.
debuggers() {
  compgen -c lldb-dap >/dev/null || compgen -c lldb-vscode >/dev/null && return
  command -v apt-get >/dev/null && ((EUID == 0)) || return 0
  local package
  for package in lldb-19 lldb; do
    apt-get install -y --no-install-recommends "$package" </dev/null >>"$dir/apt.log" 2>&1 && return
  done
  return 0
}

start() {
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  python_tools
  node_tools
  shell_tools
  debuggers
  printf "export %s='%s'\n" \
    HERMES_TEST_CODE_PYTHON "$dir/venv" \
    HERMES_TEST_CODE_NODE "$dir/node/node_modules"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
