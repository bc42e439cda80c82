#!/bin/sh
# Makes bench/.venv with the original, so that bench/run.py can measure against it.
# Safe to run again: it does nothing when the right version is already there.
set -eu

package=hermes-agent
version=0.19.0
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv"
python="$venv/bin/python"

say() { printf 'setup: %s\n' "$*"; }

installed() {
    "$python" -c "import importlib.metadata as m; print(m.version('$package'))" 2>/dev/null || true
}

if [ -x "$python" ] && [ "$(installed)" = "$version" ]; then
    say "bench/.venv already holds $package $version, nothing to do"
    exit 0
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
