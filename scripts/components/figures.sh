#!/usr/bin/env bash
# A virtualenv with plotting and table packages, for the tests of repl.
#
#   figures.sh start DIR   prints `export NAME='value'` lines; exits with 77 and a
#                          reason if it is unavailable on this machine
#   figures.sh stop DIR    does nothing: no process runs
#
# Keeps an existing installation unchanged.
set -euo pipefail

PACKAGES=(matplotlib pandas pillow polars)

skip() {
  echo "skipped: $1" >&2
  exit 77
}

start() {
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  local installed=$dir/venv/installed
  if [[ ! -e $installed || $(cat "$installed") != "${PACKAGES[*]}" ]]; then
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 -m venv "$dir/venv" >"$dir/venv.log" 2>&1 ||
      skip "python3 cannot create a venv (Debian: python3-venv)"
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PACKAGES[@]}" \
      >"$dir/pip.log" 2>&1 || skip "pip cannot install ${PACKAGES[*]}"
    echo "${PACKAGES[*]}" >"$installed"
  fi
  printf "export %s='%s'\n" HERMES_TEST_REPL_PYTHON "$dir/venv"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
