"""Order statistics of the results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

__all__ = ["median", "percentile", "ratio"]


def percentile(samples: Sequence[float], percent: float) -> float:
    """Returns the nearest-rank percentile, which is always an observed value."""
    ordered = sorted(samples)
    rank = max(1, math.ceil(percent / 100 * len(ordered)))
    return ordered[rank - 1]


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Returns a quotient, or None if either side was not measured."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator
