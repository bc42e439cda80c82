"""Isolates every measured program: no network, empty home, clean environment.

The whole run enters its own network namespace once, so that isolation adds nothing to
the measured time of a command.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

MARK = "HERMES_BENCH_NETWORK"
NAMESPACE = "own network namespace"
DEAD_PROXY = "proxies pointed at a closed loopback port"

# Port 9 (discard) is closed on loopback, so that requests fail at once instead of hanging.
_DEAD_PROXY_URL = "http://127.0.0.1:9"
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")

# By default, the original runs pip when tool definitions are requested.
_ORIGINAL_CONFIG = "security:\n  allow_lazy_installs: false\n"


def leave_network() -> str:
    """Restarts this program without network if possible; returns the kind of isolation."""
    isolation = os.environ.get(MARK)
    if isolation is not None:
        if isolation == NAMESPACE:
            _enable_loopback()
        return isolation
    unshare = shutil.which("unshare")
    # The second form works without privileges where user namespaces are enabled.
    for flags in (["-n"], ["-r", "-n"]):
        if unshare and _works([unshare, *flags, "true"]):
            os.environ[MARK] = NAMESPACE
            os.execv(unshare, [unshare, *flags, sys.executable, *sys.argv])
    return DEAD_PROXY


def _enable_loopback() -> None:
    """Enables loopback, which is down in a new namespace, for the measured servers."""
    up, set_flags = 0x1, 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))


def make_home(path: Path, *, for_original: bool) -> Path:
    path.mkdir()
    if for_original:
        (path / "config.yaml").write_text(_ORIGINAL_CONFIG, encoding="utf-8")
    return path


def clean_environment(home: Path, network: str) -> dict[str, str]:
    """Returns an environment without the caller's keys, settings and paths."""
    environment = {
        "HOME": str(home),
        "HERMES_HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(home.parent),
        "TZ": "UTC",
    }
    if network == DEAD_PROXY:
        for name in _PROXY_VARIABLES:
            environment[name] = environment[name.upper()] = _DEAD_PROXY_URL
    return environment


def _works(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
