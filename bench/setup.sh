#!/bin/sh
# Installs what bench/run.py compares with:
#
#   setup.sh [original] [mcp]   by default both
#
#   original   bench/.venv with the original
#   mcp        bench/.node with the TypeScript SDK for MCP servers, from npm
#
# Safe to run again: does nothing if the right versions are installed.
set -eu

package=hermes-agent
version=0.19.0
bench_dir=$(cd "$(dirname "$0")" && pwd)
venv="$bench_dir/.venv"
python="$venv/bin/python"

modules="$bench_dir/.node"
typescript='@modelcontextprotocol/server@2.4.0 @modelcontextprotocol/node@2.1.2 zod@4.6.7'

log() { printf 'setup: %s\n' "$*"; }

installed() {
    "$python" -c "import importlib.metadata as m; print(m.version('$package'))" 2>/dev/null || true
}

original() {
    if [ -x "$python" ] && [ "$(installed)" = "$version" ]; then
        log "bench/.venv already holds $package $version, nothing to do"
        return
    fi

    # Compiles byte code now, so that the measured first start does not.
    if command -v uv >/dev/null 2>&1; then
        log "creating bench/.venv with uv"
        uv venv --quiet --clear --python "${PYTHON:-3.11}" "$venv"
        log "installing $package==$version"
        uv pip install --quiet --compile-bytecode --python "$python" "$package==$version"
    else
        log "uv not found: creating bench/.venv with ${PYTHON:-python3} -m venv"
        "${PYTHON:-python3}" -m venv --clear "$venv"
        log "installing $package==$version with pip (about a minute)"
        "$python" -m pip install --quiet --disable-pip-version-check --compile "$package==$version"
    fi

    found=$(installed)
    if [ "$found" != "$version" ]; then
        log "expected $package $version in bench/.venv, found '${found:-nothing}'" >&2
        exit 1
    fi
    log "bench/.venv is ready: $package $found on $("$python" --version)"
}

mcp() {
    if [ -e "$modules/installed" ] && [ "$(cat "$modules/installed")" = "$typescript" ]; then
        log "bench/.node already holds $typescript, nothing to do"
        return
    fi
    if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
        log "npm or node not found: the TypeScript SDK will not be measured" >&2
        return
    fi
    log "installing $typescript"
    mkdir -p "$modules"
    # shellcheck disable=SC2086  # several words
    (cd "$modules" && npm install --silent --no-audit --no-fund --prefix . $typescript)
    echo "$typescript" >"$modules/installed"
    log "bench/.node is ready: $typescript on Node $(node --version)"
}

[ $# -gt 0 ] || set -- original mcp
for part in "$@"; do
    case $part in
        original | mcp) "$part" ;;
        *)
            log "usage: $0 [original] [mcp]" >&2
            exit 2
            ;;
    esac
done
