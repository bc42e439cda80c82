"""Describes the machine of a run."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path


def describe(venv_python: Path | None) -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "cpu": _field("/proc/cpuinfo", "model name"),
        "memory_gb": _memory_gb(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "python_of_original": _version([str(venv_python), "--version"]) if venv_python else None,
        "rustc": _version(["rustc", "--version"]),
    }


def load_average() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def _field(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _memory_gb() -> float | None:
    total = _field("/proc/meminfo", "MemTotal")
    return round(int(total.split()[0]) / 1024**2, 1) if total else None


def _version(command: list[str]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or None
