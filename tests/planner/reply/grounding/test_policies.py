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


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Le Chalet coûte 130 $ sans repas.", "La Suite coûte 180 $ sans repas."),
        ("Chalet jest bez wyżywienia.", "Suite jest bez wyżywienia."),
    ],
)
def test_without_meals_there_is_no_breakfast(right: str, wrong: str) -> None:
    """The word that denies is a part of the phrase."""
    rooms = {
        "rooms": [
            {"name": "Chalet", "breakfast": False, "price": 130},
            {"name": "Suite", "breakfast": True, "price": 180},
        ]
    }

    assert refused(right, rooms) == []
    assert refused(wrong, rooms) != []


def test_each_name_of_a_thing_names_it() -> None:
    """A flight is named by its airline alone, also by one of short words."""
    assert refused("The El Al fare is refundable.", FLIGHTS) == []
    assert refused("The El Al fare is non-refundable.", FLIGHTS) != []


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("Reservation TL-48213 was cancelled at no charge.", False),
        ("There is no cancellation fee.", False),
        ("You can cancel it for nothing.", False),
        ("Non-members can cancel it, too.", False),
        ("Your rate cannot be cancelled.", True),
        ("There is no cancellation.", True),
    ],
)
def test_what_costs_nothing_is_not_denied(text: str, is_wrong: bool) -> None:
    """The "no" of "no fee" denies only the price."""
    cancelled = {"code": "TL-48213", "cancelled": True, "cancellable": True, "cancellation_fee": 0}

    assert bool(refused(text, cancelled)) == is_wrong


CARS = {
    "cars": [
        {"model": "Fiat Panda", "automatic": False, "free_cancellation": True, "price_eur": 140},
        {"model": "Toyota Corolla", "automatic": True, "free_cancellation": True, "price_eur": 197},
        {"model": "Skoda Octavia", "automatic": True, "free_cancellation": False, "price_eur": 230},
    ]
}


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("The Corolla can be cancelled free of charge, the Panda can too.", False),
        ("The Corolla can be cancelled free of charge, the Octavia can too.", True),
        ("The Corolla can be cancelled free of charge; the Octavia, at €230, cannot.", False),
        ("The Corolla is automatic; the Octavia is, too.", False),
        ("The Corolla is automatic; the Panda is, too.", True),
        ("The Corolla is automatic; the Panda is not.", False),
        ("The Corolla is automatic; the Octavia is not.", True),
        ("The Panda is not automatic, and neither is the Octavia.", True),
        ("Der Corolla ist kostenlos stornierbar, der Panda auch.", False),
        ("Der Corolla ist kostenlos stornierbar, der Octavia auch.", True),
        ("El Corolla es cancelable gratis; el Octavia, también.", True),
        ("Le Corolla est annulable gratuitement, l'Octavia aussi.", True),
        ("The Corolla is automatic, the Panda is the cheapest one too.", False),
    ],
)
def test_what_is_said_of_another_thing_in_few_words(text: str, is_wrong: bool) -> None:
    """A clause without a verb of its own says the same as the one before, or the opposite."""
    assert bool(refused(text, CARS)) == is_wrong


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("- Fiat Panda, €140\n- Toyota Corolla, €197\n\nBoth can be cancelled free of charge.", False),
        ("- Fiat Panda, €140\n- Skoda Octavia, €230\n\nBoth can be cancelled free of charge.", True),
        ("- Fiat Panda, €140\n- Skoda Octavia, €230\n\nBoth are automatic.", True),
        ("- Toyota Corolla, €197\n- Skoda Octavia, €230\n\nBoth are automatic.", False),
        ("1. Fiat Panda\n2. Toyota Corolla\n3. Skoda Octavia\n\nAll three are automatic.", True),
        ("1. Fiat Panda\n2. Toyota Corolla\n3. Skoda Octavia\n\nAlle drei sind kostenlos stornierbar.", True),
        ("The Toyota Corolla costs €197 and the Skoda Octavia €230. Both are automatic.", False),
        ("1. Fiat Panda\n2. Toyota Corolla\n3. Skoda Octavia\n\nTwo are automatic.", False),
    ],
)
def test_what_is_said_of_all_that_a_text_names(text: str, is_wrong: bool) -> None:
    """It holds of each of them, if they are as many as it says."""
    assert bool(refused(text, CARS)) == is_wrong


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("The Corolla can be cancelled free of charge; the others can be cancelled as well.", True),
        ("The Panda can be cancelled free of charge; some others can't be cancelled.", False),
        ("The Octavia can't be cancelled; the others can be cancelled free of charge.", False),
    ],
)
def test_what_is_said_of_the_rest(text: str, is_wrong: bool) -> None:
    """If it is the same as of those that are named, it is of everything."""
    assert bool(refused(text, CARS)) == is_wrong


def test_what_is_yours_is_another_thing() -> None:
    """That a car may stay says nothing of pets, and Hebrew may write "and" before its "cannot"."""
    house = {"answer": "Pets are not allowed in the house at all.", "rooms": [{"name": "Lotem", "cancellable": False}]}

    assert refused("Sorry, no pets are allowed. Your car is fine though.", house) == []
    assert refused("המחיר כולל הכול, ואי אפשר לבטל אותה.", house) == []
