"""Intervals, pass^k and the exact test agree with published figures and with plain counting."""

from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnloom.workers.evals.proportions import chance_of_more, mean, pass_power, wilson


@pytest.mark.parametrize(
    ("passed", "held", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3: Wilson without continuity correction.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_published_intervals(passed: int, held: int, low: float, high: float) -> None:
    """The figures of a well-known comparison of methods come out to the last digit."""
    found = wilson(passed / held, held)

    assert found == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_nothing_held_tells_nothing() -> None:
    """Without a trial any share is possible."""
    assert wilson(0.0, 0) == (0, 1)
    assert mean([]) == 0


@given(st.integers(1, 500), st.data())
def test_an_interval_holds_its_share(held: int, data: st.DataObject) -> None:
    """It is within 0 and 1, and never empty."""
    passed = data.draw(st.integers(0, held))

    low, high = wilson(passed / held, held)

    assert 0 <= low <= passed / held <= high <= 1
    assert low < high


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_pass_power_is_the_share_of_choices_that_all_pass(times: list[bool], data: st.DataObject) -> None:
    """Counting the choices one by one gives the same."""
    k = data.draw(st.integers(1, len(times)))
    choices = list(combinations(times, k))

    assert pass_power(sum(times), len(times), k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_fishers_tea() -> None:
    """All four of eight cups by chance: one in seventy, as in Fisher's own example."""
    assert chance_of_more(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert chance_of_more(3, 4, 1, 4) == pytest.approx(17 / 70)


@pytest.mark.parametrize(("trials", "others"), [(3, 4), (5, 2), (1, 6)])
def test_chance_is_that_of_plain_counting(trials: int, others: int) -> None:
    """Of all ways to lay the hits over both groups, so many have at least as many in the first."""
    for hits, other_hits in product(range(trials + 1), range(others + 1)):
        ways = combinations(range(trials + others), hits + other_hits)
        more = sum(sum(place < trials for place in way) >= hits for way in ways)

        found = chance_of_more(hits, trials, other_hits, others)
        assert found == pytest.approx(more / comb(trials + others, hits + other_hits))


def test_chance_with_nothing_to_compare() -> None:
    """Without a second group, or without hits, nothing is unlikely. Large samples are no trouble."""
    assert chance_of_more(20, 20, 0, 0) == pytest.approx(1)
    assert chance_of_more(0, 20, 0, 20) == pytest.approx(1)
    assert chance_of_more(60_000, 1_000_000, 50_000, 1_000_000) < 1e-9
