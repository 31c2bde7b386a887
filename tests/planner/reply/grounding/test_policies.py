"""A policy is one of the thing that is spoken of, also in the next sentence and by the bare name of a field."""

import pytest

from tests.planner.reply.grounding.replies import refused

HOTELS = {
    "hotels": [
        {"name": "Olive House", "pets": True, "refundable": False, "price": 96},
        {"name": "Budget Beds", "pets": False, "refundable": True, "price": 52},
    ]
}
FLIGHTS = {
    "flights": [
        {"number": "LY 541", "airline": "El Al", "refundable": True},
        {"number": "A3 927", "airline": "Aegean Airlines", "refundable": False},
    ]
}


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("Pets are welcome at the Olive House.", False),
        ("Pets are not allowed at the Olive House.", True),
        ("I would take the Olive House. It is not refundable.", False),
        ("I would take the Olive House. It is refundable.", True),
        ("The Olive House is not refundable. The other one can be cancelled.", False),
        ("Das Ticket im Olive House ist erstattbar.", True),
    ],
)
def test_a_policy_of_the_thing_that_is_spoken_of(text: str, is_wrong: bool) -> None:
    """`pets: false` says that pets are not allowed; "it" is what was named last; "the other one" is not."""
    assert bool(refused(text, HOTELS)) == is_wrong


def test_each_name_of_a_thing_names_it() -> None:
    """A flight is named by its airline alone, also by one of short words."""
    assert refused("The El Al fare is refundable.", FLIGHTS) == []
    assert refused("The El Al fare is non-refundable.", FLIGHTS) != []


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("Reservation TL-48213 was cancelled at no charge.", False),
        ("There is no cancellation fee.", False),
        ("Your rate cannot be cancelled.", True),
        ("There is no cancellation.", True),
    ],
)
def test_what_costs_nothing_is_not_denied(text: str, is_wrong: bool) -> None:
    """The "no" of "no fee" denies only the price."""
    cancelled = {"code": "TL-48213", "cancelled": True, "cancellable": True, "cancellation_fee": 0}

    assert bool(refused(text, cancelled)) == is_wrong
