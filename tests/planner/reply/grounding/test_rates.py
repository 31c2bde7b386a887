"""Grounding lets right replies pass, and altered ones not. `rates.py` prints the table."""

from collections import Counter
from itertools import islice

import pytest

from tests.planner.reply.grounding.rates import FRESH, OTHERS, SHIPPED, Case, cases, judge

MOST_REFUSED = 0.03
FEWEST_CAUGHT = 0.9
MOST_REFUSED_FRESH = 0.05
FEWEST_CAUGHT_FRESH = 0.8
MOST_REFUSED_OTHERS = 0.07
FEWEST_CAUGHT_OTHERS = 0.73
"""What the rules reach so far with other writers' replies. The aim is that of the fresh ones."""


@pytest.fixture(scope="module")
def judged() -> list[tuple[Case, bool]]:
    """Return every reply of the scenes, and whether grounding judges it as it should."""
    return [(case, judge(case)) for case in cases()]


def test_the_scenes_have_many_replies_of_many_kinds(judged: list[tuple[Case, bool]]) -> None:
    """There are 300 right replies of twelve kinds, and 400 altered ones of twenty kinds."""
    right, altered = (Counter(case.kind for case, _ in judged if case.is_right is sort) for sort in (True, False))

    assert (right.total() >= 300, len(right) >= 12) == (True, True)
    assert (altered.total() >= 400, len(altered) >= 20) == (True, True)


def test_right_replies_pass(judged: list[tuple[Case, bool]]) -> None:
    """Fewer than 3 % of the right replies are refused."""
    refused = [case.text for case, good in judged if case.is_right and not good]

    assert len(refused) < MOST_REFUSED * sum(case.is_right for case, _ in judged), refused


def test_altered_replies_are_caught(judged: list[tuple[Case, bool]]) -> None:
    """At least nine of ten altered replies are refused."""
    caught = [good for case, good in judged if not case.is_right]

    assert sum(caught) >= FEWEST_CAUGHT * len(caught)


def test_replies_that_the_rules_were_not_made_for_fare_nearly_as_well() -> None:
    """Of the fresh replies, fewer than 5 % of the right ones are refused, and at least four of five altered ones."""
    fresh = [(case, judge(case)) for case in cases(FRESH)]
    refused = [case.text for case, good in fresh if case.is_right and not good]
    caught = [good for case, good in fresh if not case.is_right]

    assert len(refused) < MOST_REFUSED_FRESH * (len(fresh) - len(caught)), refused
    assert sum(caught) >= FEWEST_CAUGHT_FRESH * len(caught)


def test_replies_of_other_writers_fare_no_worse_than_so_far() -> None:
    """Nobody wrote these replies for the rules. No change may make them fare worse. A twelfth of them is looked at."""
    others = [(case, judge(case)) for case in islice(cases(OTHERS, every=4), 0, None, 3)]
    refused = [case.text for case, good in others if case.is_right and not good]
    caught = [good for case, good in others if not case.is_right]

    assert len(refused) < MOST_REFUSED_OTHERS * (len(others) - len(caught))
    assert sum(caught) >= FEWEST_CAUGHT_OTHERS * len(caught)


def test_replies_over_the_shipped_assistants_fare_well() -> None:
    """Of other writers' replies, fewer than 5 % of the right ones are refused, and four of five altered ones.

    One in 28 is looked at: each second one of each 14th scene. `rates.py` looks at all.
    """
    shipped = [(case, judge(case)) for case in islice(cases(SHIPPED, every=14), 0, None, 2)]
    refused = [case.text for case, good in shipped if case.is_right and not good]
    caught = [good for case, good in shipped if not case.is_right]

    assert len(refused) < MOST_REFUSED_FRESH * (len(shipped) - len(caught)), refused
    assert sum(caught) >= FEWEST_CAUGHT_FRESH * len(caught)
