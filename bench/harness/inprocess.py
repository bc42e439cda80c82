"""Collects the metric lines of `bench_engine` and `original.py`, round by round."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.stats import median

_TIMEOUT_S = 900
# How the rounds of a metric are combined; other fields keep their last value.
_COMBINE: dict[str, Callable[[list[float]], float]] = {
    "p50_us": median,
    "p99_us": median,
    "min_us": min,
    "rate_per_s": median,
    "n": sum,
}

Metrics = dict[str, dict[str, Any]]


@dataclass
class Program:
    """A program that prints one JSON object per line, each with a `metric`."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    cpu_s: float = 0.0
    failure: str | None = None
    detail: str = ""
    entries: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def run_once(self) -> None:
        if self.failure is not None:
            return
        before = _children_cpu_s()
        try:
            result = subprocess.run(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.failure = f"not finished after {_TIMEOUT_S} s"
            self.detail = "killed"
            return
        self.cpu_s += _children_cpu_s() - before
        if result.returncode != 0:
            self.failure = f"exit code {result.returncode}"
            self.detail = (result.stderr.strip().splitlines() or ["no message"])[-1]
            return
        for line in result.stdout.splitlines():
            self._parse_line(line)

    def _parse_line(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            return
        if isinstance(entry, dict) and isinstance(entry.get("metric"), str):
            self.entries.setdefault(entry["metric"], []).append(entry)

    def metrics(self) -> Metrics:
        return {metric: _combined(entries) for metric, entries in self.entries.items()}


def measure(programs: Sequence[Program], rounds: int, progress: Callable[[str], None]) -> None:
    """Alternates the programs, so that both run under the same load."""
    for number in range(rounds):
        progress(f"in process, round {number + 1} of {rounds}")
        for program in programs:
            program.run_once()
    for program in programs:
        if program.failure is not None:
            progress(f"{program.name}: {program.failure}: {program.detail}")


def _combined(entries: list[dict[str, Any]]) -> dict[str, Any]:
    combined: dict[str, Any] = {}
    for entry in entries:
        combined.update(entry)
    combined.pop("metric", None)
    for name, combine in _COMBINE.items():
        values = [float(entry[name]) for entry in entries if _is_number(entry.get(name))]
        if values:
            combined[name] = combine(values)
        else:
            combined.pop(name, None)
    return combined


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
