"""What is called within the user's budget, or beyond it, is so."""

import pytest

from tests.planner.reply.grounding.replies import refused

SAID = "A room for two from 4 to 6 December, at most 900 euros"
ROOMS = {
    "nights": 2,
    "budget": {"amount": 900, "currency": "EUR"},
    "options": [
        {"room_name": "Garden Room", "price_total": 740.0, "currency": "EUR"},
        {"room_name": "Tower Suite", "price_total": 1280.0, "currency": "EUR"},
    ],
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The Garden Room, at €740, is within your budget.", "The Tower Suite, at €1,280, is within your budget."),
        ("The Tower Suite is over your budget.", "The Garden Room is over your budget."),
        ("Das Garden Room liegt in Ihrem Budget.", "Die Tower Suite liegt in Ihrem Budget."),
        ("La Tower Suite supera tu presupuesto.", "La Garden Room supera tu presupuesto."),
        ("La Garden Room rientra nel vostro budget.", "La Tower Suite rientra nel vostro budget."),
        ("Garden Roomはご予算内です。", "Tower Suiteはご予算内です。"),
        (
            "The Tower Suite, at nearly €1,300, is beyond your limit.",
            "The Tower Suite, at nearly €1,300, fits your limit.",
        ),
    ],
)
def test_prices_are_compared_with_the_limit(right: str, wrong: str) -> None:
    """That of the amount before the words, or of what is named before them."""
    assert refused(right, ROOMS, said=SAID) == []
    assert refused(wrong, ROOMS, said=SAID) != []


@pytest.mark.parametrize(
    "reply",
    [
        "The Tower Suite is €380 over your budget.",  # by how much: another check
        "Is the Tower Suite within your budget?",
        "The Tower Suite is not within your budget.",
        "If the Tower Suite were within your budget, I would take it.",
        "The Garden Room is €740, so it stays within your budget.",
    ],
)
def test_what_compares_nothing_passes(reply: str) -> None:
    """Differences, questions, denials and conditions."""
    assert refused(reply, ROOMS, said=SAID) == []


def test_without_a_limit_nothing_is_compared() -> None:
    """The user has named none."""
    assert refused("The Tower Suite is within your budget.", {"options": ROOMS["options"]}) == []
