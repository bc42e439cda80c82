#!/bin/sh
# Makes what bench/run.py measures against:
#
#   setup.sh [original] [mcp]   both unless named
#
#   original   bench/.venv with the original
#   mcp        bench/.node with the TypeScript SDK for MCP servers, by npm
#
# Safe to run again: it does nothing when the right versions are already there.
set -eu

package=hermes-agent
version=0.19.0
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv"
python="$venv/bin/python"

modules="$here/.node"
typescript='@modelcontextprotocol/server@2.4.0 @modelcontextprotocol/node@2.1.2 zod@4.6.7'

say() { printf 'setup: %s\n' "$*"; }

installed() {
    "$python" -c "import importlib.metadata as m; print(m.version('$package'))" 2>/dev/null || true
}

original() {
    if [ -x "$python" ] && [ "$(installed)" = "$version" ]; then
        say "bench/.venv already holds $package $version, nothing to do"
        return
    fi

    # Byte code is compiled here and not on the first start, which would be measured.
    if command -v uv >/dev/null 2>&1; then
        say "making bench/.venv with uv"
        uv venv --quiet --clear --python "${PYTHON:-3.11}" "$venv"
        say "installing $package==$version"
        uv pip install --quiet --compile-bytecode --python "$python" "$package==$version"
    else
        say "uv not found: making bench/.venv with ${PYTHON:-python3} -m venv"
        "${PYTHON:-python3}" -m venv --clear "$venv"
        say "installing $package==$version with pip (about a minute)"
        "$python" -m pip install --quiet --disable-pip-version-check --compile "$package==$version"
    fi

    found=$(installed)
    if [ "$found" != "$version" ]; then
        say "expected $package $version in bench/.venv, found '${found:-nothing}'" >&2
        exit 1
    fi
    say "bench/.venv is ready: $package $found on $("$python" --version)"
}

mcp() {
    if [ -e "$modules/installed" ] && [ "$(cat "$modules/installed")" = "$typescript" ]; then
        say "bench/.node already holds $typescript, nothing to do"
        return
    fi
    if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
        say "npm not found: the TypeScript SDK will not be measured" >&2
        return
    fi
    say "installing $typescript"
    mkdir -p "$modules"
    # shellcheck disable=SC2086  # they are several
    (cd "$modules" && npm install --silent --no-audit --no-fund --prefix . $typescript)
    echo "$typescript" >"$modules/installed"
    say "bench/.node is ready: $typescript on Node $(node --version)"
}

[ $# -gt 0 ] || set -- original mcp
for part in "$@"; do
    case $part in
        original | mcp) "$part" ;;
        *)
            say "usage: $0 [original] [mcp]" >&2
            exit 2
            ;;
    esac
done
