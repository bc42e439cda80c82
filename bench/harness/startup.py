"""Measures whole processes, interleaved, so that a load peak affects all cases alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.cases import Side, StartUp
from harness.process import CommandFailed, Run, peak_bytes, time_once, try_out
from harness.stats import median

Environments = Mapping[Side, Mapping[str, str]]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    rounds: int
    burst: int
    peaks: int


FULL = Effort(rounds=15, burst=8, peaks=5)
QUICK = Effort(rounds=3, burst=5, peaks=2)


@dataclass
class CaseMeasurement:
    case: StartUp
    runs: list[Run] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    failure: str | None = None

    def summary(self) -> dict[str, Any]:
        base: dict[str, Any] = {
            "label": self.case.label,
            "side": self.case.side.value,
            "rival": self.case.rival,
            "n": len(self.runs),
            "cpu_total_s": round(sum(run.cpu_s for run in self.runs), 3),
        }
        if self.failure is not None:
            return {**base, "failure": self.failure}
        walls = [run.wall_s * 1e3 for run in self.runs]
        return {
            **base,
            "wall_min_ms": min(walls),
            "wall_p50_ms": median(walls),
            "cpu_p50_ms": median(run.cpu_s * 1e3 for run in self.runs),
            "peak_mb": max(self.peaks) / 1e6 if self.peaks else None,
        }


def measure(
    cases: Sequence[StartUp], environments: Environments, effort: Effort, progress: Progress
) -> dict[str, dict[str, Any]]:
    """Returns summaries by case key; a case that fails is reported and no longer measured."""
    entries = [CaseMeasurement(case) for case in cases]
    for entry in entries:
        _run_case(entry, lambda case, env: try_out(case.command, env), environments, progress)
    for number in range(effort.rounds):
        progress(f"start-up, round {number + 1} of {effort.rounds}")
        _round(entries, environments, effort, progress)
    for _ in range(effort.peaks):
        for entry in entries:
            _run_case(entry, lambda case, env: peak_bytes(case.command, env), environments, progress)
    return {entry.case.key: entry.summary() for entry in entries}


def _round(
    entries: Sequence[CaseMeasurement],
    environments: Environments,
    effort: Effort,
    progress: Progress,
) -> None:
    fast = [entry for entry in entries if not entry.case.slow]
    for repetition in range(effort.burst):
        # Rotates, so that no case always runs after the same one.
        shift = repetition % max(1, len(fast))
        for entry in fast[shift:] + fast[:shift]:
            _run_case(entry, lambda case, env: time_once(case.command, env), environments, progress)
    for entry in entries:
        if entry.case.slow:
            _run_case(entry, lambda case, env: time_once(case.command, env), environments, progress)


def _run_case(
    entry: CaseMeasurement,
    action: Callable[[StartUp, Mapping[str, str]], Run | int | str | None],
    environments: Environments,
    progress: Progress,
) -> None:
    if entry.failure is not None:
        return
    try:
        result = action(entry.case, environments[entry.case.side])
    except CommandFailed as failure:
        entry.failure = failure.reason
        progress(f"{entry.case.label} ({entry.case.side.value}): {failure}")
        return
    if isinstance(result, Run):
        entry.runs.append(result)
    elif isinstance(result, int):
        entry.peaks.append(result)
