"""A calculation in a few steps is a source where it is no chance."""

from decimal import Decimal

import pytest

from turnloom.planner.reply.grounding.composition import Factors, composed, neighbours
from turnloom.planner.reply.grounding.places import EvidencePlace, Operand

NO_FACTORS = Factors([], [])


def _amounts(*values: str) -> list[Operand]:
    places = [EvidencePlace("menu", f"dishes[{n}].price") for n in range(len(values))]
    return [Operand(Decimal(value), "EUR", place) for value, place in zip(values, places, strict=True)]


def _path(value: str, amounts: list[Operand], factors: Factors = NO_FACTORS) -> str | None:
    found = composed(Decimal(value), amounts, factors)
    return found.path if found else None


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("171", "dishes[0].price * 3"),
        ("131.5", "(dishes[0].price + dishes[1].price)"),
        ("41.90", "(dishes[0].price - dishes[2].price)"),
        ("337.50", "(dishes[0].price * 2 + dishes[1].price * 3)"),
        ("51.30", "dishes[0].price * 90 %"),
    ],
)
def test_a_calculation_over_a_few_amounts_is_found_with_its_sources(value: str, path: str) -> None:
    """Sums of multiples, differences and percentages count where the amounts are few."""
    counts, percents = [Decimal(2), Decimal(3)], [Decimal(90)]

    assert _path(value, _amounts("57", "74.50", "15.10"), Factors(counts, percents)) == path


def test_what_many_amounts_reach_by_chance_is_no_source() -> None:
    """Where the neighbours of a figure are reached as well as itself, reaching it says nothing."""
    tens = [str(10 * number) for number in range(1, 16)]

    assert _path("210", _amounts(*tens)) is None
    assert _path("70", _amounts("30", "40")) is not None


def test_what_no_calculation_gives_is_not_found() -> None:
    """An amount that is one cent off has no source."""
    assert _path("131.51", _amounts("57", "74.50")) is None


def test_neighbours_are_said_as_precisely_as_the_figure() -> None:
    """A round figure has round neighbours, and none of them is the figure itself or below zero."""
    beside = neighbours(Decimal(400))

    assert all(value % 100 == 0 and value > 0 and value != 400 for value in beside)
    assert {Decimal(300), Decimal(500), Decimal(1400)} <= set(beside)
