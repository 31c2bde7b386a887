"""Proportions and distributions of what was counted and measured over turns. Pure, and independent of the order."""

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil, floor, fsum, log10, sqrt
from statistics import NormalDist

from turnloom.models.contracts.replay import Proportion, Spread

_BINS = 20
_Z = NormalDist().inv_cdf(0.975)
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Leading digits of the width of a bin."""


def proportion(count: int, of: int) -> Proportion:
    """Return a share with its 95 % confidence interval, after Wilson (1927)."""
    if not of:
        return Proportion(count=count, of=of, share=None, low=0.0, high=1.0)
    share = count / of
    middle = share + _Z**2 / (2 * of)
    reach = _Z * sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    scale = 1 + _Z**2 / of
    low = 0.0 if count == 0 else (middle - reach) / scale
    high = 1.0 if count == of else (middle + reach) / scale
    return Proportion(count=count, of=of, share=share, low=low, high=high)


def bin_bounds(*samples: Sequence[float], least: float = 0.0) -> list[float]:
    """Return the lower bounds of bins of one round width, from 0, that hold 99 % of each sample.

    What lies beyond belongs to the last bin. No bin is narrower than `least`.
    """
    largest = max((quantile(sorted(each), 0.99) for each in samples if each), default=0.0)
    width = max(_round_up(largest / _BINS), least) if largest > 0 else 1.0
    return [float(f"{width * place:.6g}") for place in range(max(1, ceil(largest / width - 1e-9)) + 1)]


def spread(values: Sequence[float], bounds: Sequence[float]) -> Spread:
    """Return the distribution of at least one value, none of them negative."""
    ordered = sorted(values)
    bins = [0] * len(bounds)
    for value in ordered:
        bins[bisect_right(bounds, value) - 1] += 1
    return Spread(
        mean=fsum(ordered) / len(ordered),
        p50=quantile(ordered, 0.5),
        p90=quantile(ordered, 0.9),
        p95=quantile(ordered, 0.95),
        p99=quantile(ordered, 0.99),
        most=ordered[-1],
        bins=bins,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value that this share of the ordered values does not exceed."""
    return ordered[max(ceil(len(ordered) * share) - 1, 0)]


def _round_up(width: float) -> float:
    """Return the next larger number with a short first digit, such as 0.25 or 40."""
    power = 10.0 ** floor(log10(width))
    return next(step * power for step in _STEPS if step * power >= width * (1 - 1e-9))
