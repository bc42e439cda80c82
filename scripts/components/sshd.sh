#!/usr/bin/env bash
# An SSH server on loopback for tests, with its own keys.
#
#   sshd.sh start DIR   prints `export NAME='value'` lines; exits with 77 and a
#                       reason if it is unavailable on this machine
#   sshd.sh stop DIR    stops it
#
# Only the user who started it can log in, with the key in DIR. It runs in its
# own PID namespace, so like another host it does not see this machine's
# processes.
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
  local get=(apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300)
  # The package lists may be missing, or change while another component updates
  # them.
  for _ in 1 2 3; do
    "${get[@]}" install openssh-server openssh-client </dev/null >>"$dir/apt.log" 2>&1 && return
    "${get[@]}" update </dev/null >>"$dir/apt.log" 2>&1 || true
  done
  skip "sshd is not installed, and apt cannot install openssh-server: $(tail -n 1 "$dir/apt.log")"
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

is_running() {
  [[ -s $dir/pid ]] && kill -0 "$(cat "$dir/pid")" 2>/dev/null &&
    grep -qa "$dir/config" "/proc/$(cat "$dir/pid")/cmdline"
}

# Starts it on a free port. Fails if another process takes the port first.
listen() {
  local port
  port=$(free_port)
  cat >"$dir/config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $dir/host_key
AuthorizedKeysFile $dir/user_key.pub
PidFile none
UsePAM no
# Keeps bash from reading the user's startup files, which may print anything:
# with SHLVL unset it takes itself for a login's first shell.
SetEnv SHLVL=2
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers $(id -un)
Subsystem sftp internal-sftp
END
  local isolate=(unshare --pid --fork --mount-proc --kill-child)
  ((EUID == 0)) || isolate+=(--map-current-user)
  # Without job control the server and its children would ignore SIGINT.
  set -m
  # Absolute paths: sshd changes its working directory.
  "${isolate[@]}" "$sshd" -D -f "$dir/config" -E "$dir/log" \
    </dev/null >>"$dir/log" 2>&1 &
  echo $! >"$dir/pid"
  set +m
  for _ in $(seq 100); do
    is_running && ssh-keyscan -p "$port" 127.0.0.1 2>/dev/null | grep -q . && break
    is_running || return 1
    sleep 0.1
  done
  echo "$port" >"$dir/port"
}

start() {
  mkdir -p "$dir"
  chmod 700 "$dir"
  dir=$(cd "$dir" && pwd -P)
  [[ -n $(program) ]] && command -v ssh >/dev/null || install
  sshd=$(program)
  # The privilege separation directory, which the package's service would create.
  ((EUID != 0)) || mkdir -p /run/sshd
  [[ -e $dir/host_key ]] || ssh-keygen -q -t ed25519 -N '' -C host -f "$dir/host_key"
  [[ -e $dir/user_key ]] || ssh-keygen -q -t ed25519 -N '' -C user -f "$dir/user_key"
  is_running || listen || listen || listen || skip "sshd does not start: $(tail -n 1 "$dir/log")"
  printf "export %s='%s'\n" \
    HERMES_TEST_SSH_PORT "$(cat "$dir/port")" \
    HERMES_TEST_SSH_KEY "$dir/user_key" \
    HERMES_TEST_SSH_HOST_KEY "$dir/host_key.pub" \
    HERMES_TEST_SSH_USER "$(id -un)" \
    HERMES_TEST_SSHD "$sshd"
}

stop() {
  [[ -d $dir ]] || return 0
  dir=$(cd "$dir" && pwd -P)
  # unshare waits for the server and ignores other signals. --kill-child ends
  # everything in the namespace.
  if is_running; then kill -KILL "$(cat "$dir/pid")"; fi
  rm -f "$dir/pid" "$dir/port"
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
