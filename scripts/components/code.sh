#!/usr/bin/env bash
# Linters, formatters and test runners for tests, in a folder of their own.
#
#   code.sh start DIR   prints `export NAME='value'` lines; 77 and a reason if
#                       they cannot be had on this machine
#   code.sh stop DIR    nothing runs, so there is nothing to end
#
# What is there already is left as it is.
set -euo pipefail

PYTHON_TOOLS=(ruff black pytest mypy flake8 pylint yamllint clang-format shfmt-py taplo debugpy)
NODE_TOOLS=(eslint prettier jest vitest mocha typescript @biomejs/biome stylelint markdownlint-cli2)

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

python_tools() {
  has_installed venv "${PYTHON_TOOLS[@]}" && return
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 -m venv "$folder/venv" >"$folder/venv.log" 2>&1 ||
    skip "python3 cannot make a venv (Debian: python3-venv)"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_TOOLS[@]}" \
    >"$folder/pip.log" 2>&1 || skip "pip cannot install ${PYTHON_TOOLS[*]}"
  echo "${PYTHON_TOOLS[*]}" >"$folder/venv/installed"
}

node_tools() {
  has_installed node "${NODE_TOOLS[@]}" && return
  command -v npm >/dev/null || skip "npm is not installed"
  mkdir -p "$folder/node"
  (cd "$folder/node" && npm install --silent --no-audit --no-fund --prefix . "${NODE_TOOLS[@]}") \
    >"$folder/npm.log" 2>&1 || skip "npm cannot install ${NODE_TOOLS[*]}"
  echo "${NODE_TOOLS[*]}" >"$folder/node/installed"
}

# One that is missing is not worth the others: its tests skip by themselves.
shell_tools() {
  command -v shellcheck >/dev/null && return
  command -v apt-get >/dev/null && ((EUID == 0)) || return 0
  apt-get install -y --no-install-recommends shellcheck </dev/null >"$folder/apt.log" 2>&1 || true
}

# For native programs.
debuggers() {
  compgen -c lldb-dap >/dev/null || compgen -c lldb-vscode >/dev/null && return
  command -v apt-get >/dev/null && ((EUID == 0)) || return 0
  local package
  for package in lldb-19 lldb; do
    apt-get install -y --no-install-recommends "$package" </dev/null >>"$folder/apt.log" 2>&1 && return
  done
  return 0
}

start() {
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd -P)
  python_tools
  node_tools
  shell_tools
  debuggers
  printf "export %s='%s'\n" \
    HERMES_TEST_CODE_PYTHON "$folder/venv" \
    HERMES_TEST_CODE_NODE "$folder/node/node_modules"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
