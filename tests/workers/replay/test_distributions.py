"""Proportions have an interval, and figures a distribution."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnloom.workers.replay.distributions import bin_bounds, proportion, quantile, spread


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (30, 1_000, 0.0211, 0.0425)],
)
def test_a_proportion_has_wilsons_interval(count: int, of: int, low: float, high: float):
    """The values are those of the published formula, to four places."""
    found = proportion(count, of)

    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_a_proportion_of_nothing_is_unknown():
    """It may be anything."""
    assert proportion(0, 0).model_dump() == {"count": 0, "of": 0, "share": None, "low": 0.0, "high": 1.0}


def test_quantiles_are_values_that_occur():
    """The smallest value that so many do not exceed."""
    assert [quantile([1, 2, 3, 4], share) for share in (0, 0.25, 0.5, 0.51, 1)] == [1, 1, 2, 3, 4]


FIGURES = st.lists(st.floats(0, 1e9, allow_subnormal=False) | st.integers(0, 10).map(float), min_size=1, max_size=40)


@given(FIGURES, FIGURES)
def test_every_value_is_in_one_bin(before: list[float], after: list[float]):
    """There are few bins, from 0, whatever the values; the order of values does not matter."""
    bounds = bin_bounds(before, after)

    found = spread(before, bounds)

    assert bounds[0] == 0
    assert bounds == sorted(set(bounds))
    assert len(bounds) <= 22
    assert sum(found.bins) == len(before)
    assert found == spread(before[::-1], bounds)
    assert found.p50 <= found.p95 <= found.most
