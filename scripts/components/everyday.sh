#!/usr/bin/env bash
# Dependencies of the slow `everyday` tests: Maven with Debian's artifact
# repository, a JDK, PostgreSQL, Go. Missing packages are installed with apt.
#
#   everyday.sh start DIR   exits with 77 and a reason if a package is
#                           unavailable; tests without their program say so
#   everyday.sh stop DIR    does nothing: no process runs
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# Pairs of a file and the package that provides it.
PLUGINS=/usr/share/maven-repo/org/apache/maven/plugins
FILES=(
  /usr/bin/go golang-go
  /usr/bin/javac default-jdk-headless
  /usr/bin/mvn maven
  "$PLUGINS/maven-compiler-plugin" libmaven-compiler-plugin-java
  "$PLUGINS/maven-jar-plugin" libmaven-jar-plugin-java
  "$PLUGINS/maven-resources-plugin" libmaven-resources-plugin-java
  "$PLUGINS/maven-surefire-plugin" libsurefire-java
  /usr/share/maven-repo/junit/junit junit4
  /usr/bin/psql postgresql-client
  /usr/lib/postgresql postgresql
)

start() {
  local missing=() at
  for ((at = 0; at < ${#FILES[@]}; at += 2)); do
    [[ -e ${FILES[at]} ]] || missing+=("${FILES[at + 1]}")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null && ((EUID == 0)) || skip "not installed: ${missing[*]}"
  mkdir -p "$dir"
  apt-get update -o DPkg::Lock::Timeout=300 </dev/null >"$dir/apt.log" 2>&1 || true
  apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}" \
    </dev/null >>"$dir/apt.log" 2>&1 || skip "apt cannot install: ${missing[*]}"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
