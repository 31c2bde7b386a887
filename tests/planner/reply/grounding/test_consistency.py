"""Two amounts of which one is said to follow from the other must be a multiple, or apart, as is said."""

import pytest

from tests.planner.reply.grounding.replies import refused

ROOMS = {
    "nights": 3,
    "currency": "EUR",
    "rooms": [{"name": "Carmel", "price_total": 2070}, {"name": "Beach", "price_total": 2880}],
}
SAID = "At most 2500 euros for 3 nights"


@pytest.mark.parametrize(
    "reply", ["Carmel is €690 a night, so €2,070 for the stay.", "Carmel is €2,070, which is €430 below your €2,500."]
)
def test_what_follows_may_be_said(reply: str) -> None:
    """A night is a share of the stay, and the rest is the difference."""
    assert refused(reply, ROOMS, said=SAID) == []


@pytest.mark.parametrize(
    "reply", ["Carmel is €960 a night, so €2,070 for the stay.", "Carmel is €2,070, which is €390 below your €2,500."]
)
def test_what_does_not_follow_may_not(reply: str) -> None:
    """960 is the price of a night, but of another room."""
    assert refused(reply, ROOMS, said=SAID)
