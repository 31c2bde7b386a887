"""An amount is for one night or all of them, for one person or all of them."""

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding.lexicon import spoken

HOTEL = {"hotel": {"name": "Les Tilleuls", "currency": "EUR", "price_per_night": 168}}
FLIGHT = {"flight": {"number": "IZ 216", "currency": "EUR", "price_per_person": 119}}


@pytest.mark.parametrize("said", ["a night", "pro Nacht", "per night"])
def test_a_nights_price_is_said_of_a_night(said: str) -> None:
    """It passes with its basis, in any language."""
    assert refused(f"Les Tilleuls is €168 {said}.", HOTEL) == []


@pytest.mark.parametrize(
    "said", ["for your whole stay", "for all three nights", "für drei Nächte", "par séjour", "in total"]
)
def test_a_nights_price_is_not_said_of_a_stay(said: str) -> None:
    """The words for a stay have words between them."""
    assert refused(f"Les Tilleuls is €168 {said}.", HOTEL, said="Three nights") == ["€168"]


def test_a_persons_price_is_not_said_of_all() -> None:
    """Both pay twice as much."""
    assert refused("IZ 216 is €119 per person, so €238 for both of you.", FLIGHT) == []
    assert refused("IZ 216 is €119 for both of you.", FLIGHT) == ["€119"]


def test_a_blank_before_an_alternative_in_brackets_counts() -> None:
    """Only the blanks that a line's end leaves between alternatives do not."""
    assert spoken("for (?:the |all )?nights |nuits").search("for all nights")
    assert spoken("for (?:the |all )?nights |nuits").fullmatch("nuits")
