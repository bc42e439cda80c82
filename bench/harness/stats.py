"""The few order statistics that the results are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

__all__ = ["median", "percentile", "ratio"]


def percentile(samples: Sequence[float], percent: float) -> float:
    """Nearest-rank percentile: always a value that was really observed."""
    ordered = sorted(samples)
    rank = max(1, math.ceil(percent / 100 * len(ordered)))
    return ordered[rank - 1]


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """A quotient, or None when either side was not measured."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator
