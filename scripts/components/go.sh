#!/usr/bin/env bash
# The Go toolchain for tests, installed with apt if missing.
#
#   go.sh start DIR   exits with 77 and a reason if it is unavailable
#   go.sh stop DIR    does nothing: no process runs
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

start() {
  command -v go >/dev/null && return
  command -v apt-get >/dev/null && ((EUID == 0)) || skip "go is not installed (Debian: golang-go)"
  mkdir -p "$dir"
  apt-get update -o DPkg::Lock::Timeout=300 </dev/null >"$dir/apt.log" 2>&1 || true
  apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 golang-go \
    </dev/null >>"$dir/apt.log" 2>&1 || skip "go is not installed, and apt cannot install golang-go"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
