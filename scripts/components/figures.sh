#!/usr/bin/env bash
# A virtualenv with what draws figures and makes tables, for tests of repl.
#
#   figures.sh start DIR   prints `export NAME='value'` lines; 77 and a reason if
#                          it cannot be had on this machine
#   figures.sh stop DIR    nothing runs, so there is nothing to end
#
# What is there already is left as it is.
set -euo pipefail

PACKAGES=(matplotlib pandas pillow polars)

skip() {
  echo "skipped: $1" >&2
  exit 77
}

start() {
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd -P)
  local installed=$folder/venv/installed
  if [[ ! -e $installed || $(cat "$installed") != "${PACKAGES[*]}" ]]; then
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 -m venv "$folder/venv" >"$folder/venv.log" 2>&1 ||
      skip "python3 cannot make a venv (Debian: python3-venv)"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "${PACKAGES[@]}" \
      >"$folder/pip.log" 2>&1 || skip "pip cannot install ${PACKAGES[*]}"
    echo "${PACKAGES[*]}" >"$installed"
  fi
  printf "export %s='%s'\n" HERMES_TEST_REPL_PYTHON "$folder/venv"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
