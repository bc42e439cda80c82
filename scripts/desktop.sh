#!/usr/bin/env bash
# A headless desktop for tests: an X server on a free display, a session bus, and
# a notification daemon that logs what it shows.
#
#   scripts/desktop.sh                  prints the environment to export, then
#                                       "ready"; exits when stdin is closed
#   scripts/desktop.sh COMMAND [ARG]…   runs the command on the desktop
#
# DESKTOP_NOTIFICATIONS is the path of that log. Exits with 77 and a reason if a
# program is missing.
set -euo pipefail

for tool in Xvfb dbus-daemon dbus-send dunst; do
  command -v "$tool" >/dev/null || {
    echo "skipped: $tool is not installed (Debian: xvfb dbus dunst)" >&2
    exit 77
  }
done

dir=$(mktemp -d)
pids=()
end() {
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait "${pids[@]}" 2>/dev/null || true
  rm -rf "$dir"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# await NAME TEST…: waits until the test succeeds, for ten seconds at most.
await() {
  local name=$1
  shift
  for _ in $(seq 200); do
    if "$@"; then return; fi
    sleep 0.05
  done
  echo "error: $name did not start within 10 seconds" >&2
  cat "$dir"/*.log >&2
  exit 1
}

announced() {
  dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.NameHasOwner string:org.freedesktop.Notifications 2>/dev/null |
    grep -q 'boolean true'
}

# None of them may inherit stdout, which the caller reads to its end.
Xvfb -displayfd 3 -nolisten tcp -screen 0 640x480x24 3>"$dir/display" \
  </dev/null >"$dir/xvfb.log" 2>&1 &
pids+=($!)
dbus-daemon --session --nofork --nopidfile --print-address=3 3>"$dir/address" \
  </dev/null >"$dir/bus.log" 2>&1 &
pids+=($!)
await Xvfb test -s "$dir/display"
await dbus-daemon test -s "$dir/address"

DISPLAY=:$(cat "$dir/display")
DBUS_SESSION_BUS_ADDRESS=$(cat "$dir/address")
DESKTOP_NOTIFICATIONS=$dir/notifications
export DISPLAY DBUS_SESSION_BUS_ADDRESS DESKTOP_NOTIFICATIONS
unset WAYLAND_DISPLAY XAUTHORITY

# An explicit configuration, independent of the user's.
printf '[global]\nmarkup = full\n' >"$dir/dunstrc"
dunst -config "$dir/dunstrc" -print </dev/null >"$DESKTOP_NOTIFICATIONS" 2>"$dir/dunst.log" &
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
