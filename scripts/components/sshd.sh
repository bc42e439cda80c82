#!/usr/bin/env bash
# An ssh server on loopback for tests, with keys of its own.
#
#   sshd.sh start DIR   prints `export NAME='value'` lines; 77 and a reason if it
#                       cannot be had on this machine
#   sshd.sh stop DIR    ends it
#
# It lets in the user who started it, by the key in DIR, and nobody else. It has
# processes of its own, as another host would: none of this machine's are seen
# from there.
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

program() {
  command -v sshd || ls /usr/sbin/sshd /usr/local/sbin/sshd 2>/dev/null | head -n 1
}

install() {
  command -v apt-get >/dev/null && ((EUID == 0)) ||
    skip "sshd is not installed (Debian: openssh-server)"
  apt-get install -y --no-install-recommends openssh-server openssh-client \
    </dev/null >"$folder/apt.log" 2>&1 || skip "sshd is not installed, and apt cannot install it"
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

runs() {
  [[ -s $folder/pid ]] && kill -0 "$(cat "$folder/pid")" 2>/dev/null &&
    grep -qa "$folder/config" "/proc/$(cat "$folder/pid")/cmdline"
}

# listen: starts it on a free port, which somebody may take in between.
listen() {
  local port
  port=$(free_port)
  cat >"$folder/config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $folder/host_key
AuthorizedKeysFile $folder/user_key.pub
PidFile none
UsePAM no
# Bash takes itself for the first shell of a login and reads what the user has
# set up, which prints what it likes.
SetEnv SHLVL=2
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers $(id -un)
Subsystem sftp internal-sftp
END
  local apart=(unshare --pid --fork --mount-proc --kill-child)
  ((EUID == 0)) || apart+=(--map-current-user)
  # Without job control it, and all that it starts, would ignore interrupts.
  set -m
  # Relative names would be looked for elsewhere once it has been started.
  "${apart[@]}" "$sshd" -D -f "$folder/config" -E "$folder/log" \
    </dev/null >>"$folder/log" 2>&1 &
  echo $! >"$folder/pid"
  set +m
  for _ in $(seq 100); do
    runs && ssh-keyscan -p "$port" 127.0.0.1 2>/dev/null | grep -q . && break
    runs || return 1
    sleep 0.1
  done
  echo "$port" >"$folder/port"
}

start() {
  mkdir -p "$folder"
  chmod 700 "$folder"
  folder=$(cd "$folder" && pwd -P)
  [[ -n $(program) ]] && command -v ssh >/dev/null || install
  sshd=$(program)
  # Where it separates its privileges; the package's service would make it.
  ((EUID != 0)) || mkdir -p /run/sshd
  [[ -e $folder/host_key ]] || ssh-keygen -q -t ed25519 -N '' -C host -f "$folder/host_key"
  [[ -e $folder/user_key ]] || ssh-keygen -q -t ed25519 -N '' -C user -f "$folder/user_key"
  runs || listen || listen || listen || skip "sshd does not start: $(tail -n 1 "$folder/log")"
  printf "export %s='%s'\n" \
    HERMES_TEST_SSH_PORT "$(cat "$folder/port")" \
    HERMES_TEST_SSH_KEY "$folder/user_key" \
    HERMES_TEST_SSH_HOST_KEY "$folder/host_key.pub" \
    HERMES_TEST_SSH_USER "$(id -un)" \
    HERMES_TEST_SSHD "$sshd"
}

stop() {
  [[ -d $folder ]] || return 0
  folder=$(cd "$folder" && pwd -P)
  # It waits for the server and heeds no other signal. All that runs there
  # goes with it.
  if runs; then kill -KILL "$(cat "$folder/pid")"; fi
  rm -f "$folder/pid" "$folder/port"
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
