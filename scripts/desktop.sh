#!/usr/bin/env bash
# A desktop without a screen, for tests: an X server on a free display, a
# session bus, and a notification daemon that writes down what it shows.
#
#   scripts/desktop.sh                  prints the environment to export, then
#                                       "ready"; ends when its input is closed
#   scripts/desktop.sh COMMAND [ARG]…   runs the command on the desktop
#
# What the daemon shows is in the file DESKTOP_NOTIFICATIONS. Without the programs it
# says what is missing and ends with 77.
set -euo pipefail

for tool in Xvfb dbus-daemon dbus-send dunst; do
  command -v "$tool" >/dev/null || {
    echo "skipped: $tool is not installed (Debian: xvfb dbus dunst)" >&2
    exit 77
  }
done

folder=$(mktemp -d)
pids=()
end() {
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait "${pids[@]}" 2>/dev/null || true
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# await WHAT TEST…: until the test succeeds, ten seconds at most.
await() {
  local what=$1
  shift
  for _ in $(seq 200); do
    if "$@"; then return; fi
    sleep 0.05
  done
  echo "error: $what did not start" >&2
  cat "$folder"/*.log >&2
  exit 1
}

announced() {
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.NameHasOwner string:org.freedesktop.Notifications 2>/dev/null |
    grep -q 'boolean true'
}

# None of them may hold the output that the environment is printed to.
Xvfb -displayfd 3 -nolisten tcp -screen 0 640x480x24 3>"$folder/display" \
  </dev/null >"$folder/xvfb.log" 2>&1 &
pids+=($!)
dbus-daemon --session --nofork --nopidfile --print-address=3 3>"$folder/address" \
  </dev/null >"$folder/bus.log" 2>&1 &
pids+=($!)
await Xvfb test -s "$folder/display"
await dbus-daemon test -s "$folder/address"

DISPLAY=:$(cat "$folder/display")
DBUS_SESSION_BUS_ADDRESS=$(cat "$folder/address")
DESKTOP_NOTIFICATIONS=$folder/notifications
export DISPLAY DBUS_SESSION_BUS_ADDRESS DESKTOP_NOTIFICATIONS
unset WAYLAND_DISPLAY XAUTHORITY

# The same on every machine, whatever the user has configured.
printf '[global]\nmarkup = full\n' >"$folder/dunstrc"
dunst -config "$folder/dunstrc" -print </dev/null >"$DESKTOP_NOTIFICATIONS" 2>"$folder/dunst.log" &
pids+=($!)
await dunst announced

if (($#)); then
  "$@"
else
  for name in DISPLAY DBUS_SESSION_BUS_ADDRESS DESKTOP_NOTIFICATIONS; do
    printf "export %s='%s'\n" "$name" "${!name}"
  done
  echo ready
  cat >/dev/null
fi
