"""Measures whole processes, interleaved, so that a busy moment hits every case alike."""

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
class Measured:
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
    """Summaries by case key; a case that fails is reported as failed and left out."""
    measured = [Measured(case) for case in cases]
    for one in measured:
        _guarded(one, lambda case, env: try_out(case.command, env), environments, progress)
    for number in range(effort.rounds):
        progress(f"start-up, round {number + 1} of {effort.rounds}")
        _round(measured, environments, effort, progress)
    for _ in range(effort.peaks):
        for one in measured:
            _guarded(one, lambda case, env: peak_bytes(case.command, env), environments, progress)
    return {one.case.key: one.summary() for one in measured}


def _round(
    measured: Sequence[Measured], environments: Environments, effort: Effort, progress: Progress
) -> None:
    fast = [one for one in measured if not one.case.slow]
    for turn in range(effort.burst):
        # Rotated, so that no case always runs in the wake of the same neighbour.
        shift = turn % max(1, len(fast))
        for one in fast[shift:] + fast[:shift]:
            _guarded(one, lambda case, env: time_once(case.command, env), environments, progress)
    for one in measured:
        if one.case.slow:
            _guarded(one, lambda case, env: time_once(case.command, env), environments, progress)


def _guarded(
    one: Measured,
    action: Callable[[StartUp, Mapping[str, str]], Run | int | str | None],
    environments: Environments,
    progress: Progress,
) -> None:
    if one.failure is not None:
        return
    try:
        result = action(one.case, environments[one.case.side])
    except CommandFailed as failure:
        one.failure = failure.reason
        progress(f"{one.case.label} ({one.case.side.value}): {failure}")
        return
    if isinstance(result, Run):
        one.runs.append(result)
    elif isinstance(result, int):
        one.peaks.append(result)
