"""Statistics of shares: how sure one is, and whether one is larger than another."""

from collections.abc import Sequence
from math import comb, exp, lgamma, sqrt
from typing import NamedTuple

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: 95 % lie within it on both sides."""


class ConfidenceInterval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


def wilson(share: float, trials: int) -> ConfidenceInterval:
    """Return the 95 % confidence interval of a share of independent trials.

    It is the score interval of E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927). Unlike the usual one it is not empty for 0 % and 100 %.
    """
    if not trials:
        return ConfidenceInterval(0.0, 1.0)
    square = _Z * _Z
    scale = 1 + square / trials
    middle = (share + square / (2 * trials)) / scale
    reach = _Z * sqrt(share * (1 - share) / trials + square / (4 * trials * trials)) / scale
    return ConfidenceInterval(max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach)))


def pass_power(passed: int, held: int, k: int) -> float:
    """Return pass^k: the chance that k repetitions all pass, if `passed` of `held` did.

    The estimator without bias is that of S. Yao et al., "τ-bench: A benchmark for tool-agent-user interaction in
    real-world domains", arXiv 2406.12045 (2024): the share of the ways to choose k repetitions that have all passed.
    """
    return comb(passed, k) / comb(held, k)


def mean(shares: Sequence[float]) -> float:
    """Return the mean of shares; 0 of none."""
    return sum(shares) / len(shares) if shares else 0.0


def chance_of_more(hits: int, trials: int, other_hits: int, other_trials: int) -> float:
    """Return the chance of at least so many hits in the first group if both groups have the same rate.

    It is the one-sided exact test of R. A. Fisher, "Statistical Methods for Research Workers" (1934), section 21.02. It
    holds for samples of any size.
    """
    together = hits + other_hits
    whole = _log_comb(trials + other_trials, together)
    most = min(trials, together)
    return min(
        1.0,
        sum(
            exp(_log_comb(trials, more) + _log_comb(other_trials, together - more) - whole)
            for more in range(hits, most + 1)
            if together - more <= other_trials
        ),
    )


def _log_comb(of: int, chosen: int) -> float:
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)
