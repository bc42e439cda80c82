#!/usr/bin/env bash
# A separate Docker engine for tests, with two images that need no registry: one
# with busybox, one with this machine's bash and small programs.
#
#   docker.sh start DIR   starts it and prints the environment to export
#   docker.sh stop DIR    stops it and removes its files in DIR
#
# Exits with 77 and a reason if it cannot run here.
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
verb=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
socket=$dir/docker.sock
# sun_path is limited to 108 bytes.
((${#socket} < 100)) || skip "$dir is too long for a socket path"

engine() { docker --host "unix://$socket" "$@"; }

install_missing() {
  local missing=()
  command -v dockerd >/dev/null || missing+=(docker.io)
  command -v busybox >/dev/null || missing+=(busybox-static)
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || skip "not installed: ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "${missing[@]}" >"$dir/apt.log" 2>&1 ||
    skip "apt cannot install: ${missing[*]} ($(tail -n 1 "$dir/apt.log"))"
}

# root_of NAME: creates an empty root file system and prints its path.
root_of() {
  local root=$dir/images/$1
  rm -rf "$root"
  mkdir -p "$root"/{bin,dev,etc,lib,proc,root,sys,tmp,usr/bin,var/tmp}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  echo "$root"
}

import() { tar -C "$1" -c . | engine import - "$2" >/dev/null; }

busybox_image() {
  local root
  root=$(root_of busybox)
  cp "$(command -v busybox)" "$root/bin/busybox"
  for name in $("$root/bin/busybox" --list); do
    [[ $name == busybox ]] || ln -s busybox "$root/bin/$name"
  done
  import "$root" local/busybox:1
}

bash_image() {
  local root programs=() name path library
  root=$(root_of bash)
  for name in bash sh cat chmod chown cp cut date dd echo env expr false find grep head id kill ln \
    ls mkdir mkfifo mktemp mv nohup od printf ps pwd readlink realpath rm rmdir sed seq setsid \
    sleep sort stat stty tail tar tee test timeout touch tr true tty uname wc which xargs yes; do
    path=$(type -P "$name") || continue
    programs+=("$path")
  done
  for path in "${programs[@]}"; do
    cp -L "$path" "$root/bin/"
    # ldd fails for static programs.
    for library in $(ldd "$path" 2>/dev/null | grep -o '/[^ ]*' || true); do
      mkdir -p "$root${library%/*}"
      cp -Lu "$library" "$root$library"
    done
  done
  import "$root" local/bash:1
}

start() {
  install_missing
  [[ $(id -u) == 0 ]] || skip "a Docker engine needs root"
  dockerd --host "unix://$socket" --data-root "$dir/root" --exec-root "$dir/exec" \
    --pidfile "$dir/docker.pid" --iptables=false --ip6tables=false --ip-forward=false \
    --ip-masq=false --bridge=none --storage-driver=overlay2 \
    </dev/null >"$dir/dockerd.log" 2>&1 &
  local pid=$!
  for _ in $(seq 300); do
    if engine version >/dev/null 2>&1; then break; fi
    kill -0 "$pid" 2>/dev/null || skip "dockerd does not start: $(tail -n 1 "$dir/dockerd.log")"
    sleep 0.1
  done
  engine version >/dev/null 2>&1 || { stop; skip "dockerd does not respond"; }
  busybox_image
  bash_image
  rm -rf "$dir/images"
  echo "export HERMES_TEST_DOCKER_HOST='unix://$socket'"
  echo "export HERMES_TEST_DOCKER_IMAGES='local/busybox:1 local/bash:1'"
}

stop() {
  local pid=''
  if [[ -S $socket ]]; then
    engine ps -aq 2>/dev/null | xargs -r docker --host "unix://$socket" rm -f >/dev/null 2>&1 || true
  fi
  [[ -f $dir/docker.pid ]] && pid=$(<"$dir/docker.pid")
  if [[ -n $pid && $(readlink "/proc/$pid/exe" 2>/dev/null) == */dockerd ]]; then
    kill "$pid"
    for _ in $(seq 300); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    # A daemon that is still running keeps its mounts.
    ! kill -0 "$pid" 2>/dev/null || { echo "error: dockerd ($pid) does not exit" >&2; exit 1; }
  fi
  rm -rf "$dir/root" "$dir/exec" "$dir/images" "$dir"/docker.{sock,pid} "$dir"/{dockerd,apt}.log
}

case $verb in
  start) start ;;
  stop) stop ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
