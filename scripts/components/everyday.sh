#!/usr/bin/env bash
# What the slow rows of everyday work need: Maven with a repository of Debian's
# own artifacts, a JDK, PostgreSQL, Go. Installed with apt where it is missing.
#
#   everyday.sh start DIR   77 and a reason if not all of it can be had here;
#                           rows without their program say so themselves
#   everyday.sh stop DIR    nothing runs, so there is nothing to end
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# Packages, by a file that tells whether they are there.
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
  mkdir -p "$folder"
  apt-get update -o DPkg::Lock::Timeout=300 </dev/null >"$folder/apt.log" 2>&1 || true
  apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}" \
    </dev/null >>"$folder/apt.log" 2>&1 || skip "not installed, and apt cannot: ${missing[*]}"
}

stop() { :; }

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
