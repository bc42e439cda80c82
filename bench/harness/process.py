"""Runs a command once and reads its resource usage from the kernel."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_PR_SET_CHILD_SUBREAPER = 36
_DEV_NULL_STREAMS = (
    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
)
_TRIAL_TIMEOUT_S = 900


class CommandFailed(Exception):
    """A measured command failed, so its time is invalid.

    `reason` goes into the results; `detail` may quote the command and is only printed.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


@dataclass(frozen=True)
class Run:
    wall_s: float
    cpu_s: float


def try_out(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Runs once, unmeasured: warms the page cache and checks that the command works."""
    try:
        result = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRIAL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"not finished after {_TRIAL_TIMEOUT_S} s") from None
    except OSError as error:
        raise CommandFailed("cannot be started", error.strerror or "") from None
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        raise CommandFailed(f"exit code {result.returncode}", lines[-1] if lines else "")
    return result.stdout


def time_once(command: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Measures the wall and CPU time of one run, and discards its output.

    Uses posix_spawn, because a fork of this interpreter costs more than /bin/true.
    """
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], [*command], environment, file_actions=_DEV_NULL_STREAMS)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise CommandFailed(f"exit code {code}")
    return Run(wall_s=wall, cpu_s=usage.ru_utime + usage.ru_stime)


def peak_bytes(command: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """Returns the peak resident memory of one run; None if the system does not report it.

    ru_maxrss survives exec, so a direct child would report at least the size of this
    interpreter. Instead, a shell of under 1 MB starts the command in the background and
    exits, and this process reaps the orphan as a subreaper.
    """
    if not _adopt_orphans():
        return None
    launcher = ["/bin/sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *command]
    for _ in range(3):
        started = subprocess.run(
            launcher, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True
        )
        try:
            _, status, usage = os.wait4(int(started.stdout), 0)
        except ChildProcessError:
            continue  # The shell has already reaped it.
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise CommandFailed(f"exit code {code}")
        return usage.ru_maxrss * 1024
    return None


def _adopt_orphans() -> bool:
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
