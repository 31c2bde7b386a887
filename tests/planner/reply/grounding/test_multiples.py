"""What an amount is for tells by which counts it may be multiplied, and what it may be added to."""

import pytest

from tests.planner.reply.grounding.replies import refused

HOTEL = {
    "nights": 3,
    "adults": 2,
    "options": [
        {"room_name": "Alm", "price_total": 627.0, "currency": "EUR", "cancellable": True},
        {"room_name": "Kamin", "price_total": 870.0, "currency": "EUR", "cancellable": False},
    ],
    "answers": [
        {"topic": "parking", "answer": "A place in the garage costs EUR 14 a night."},
        {"topic": "tax", "answer": "The tax is EUR 2.80 per person and night."},
        {"topic": "sauna", "answer": "The sauna costs EUR 25 a person, and EUR 40 a person with a massage."},
    ],
}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Parking adds €42 for your stay.", []),
        ("Parking adds €28 for your stay.", ["€28"]),  # two nights
        ("The tax for both of you comes to €16.80.", []),
        ("The tax for both of you comes to €25.20.", ["€25.20"]),  # three times three: it is for two
        ("With parking, the Alm comes to €669 for the three nights.", []),
        ("With parking, the Alm comes to €641 for the three nights.", ["€641"]),  # one night's parking
        ("The sauna is €50 for the two of you.", []),
        ("The sauna is €75 for the two of you.", ["€75"]),
    ],
)
def test_an_amount_is_multiplied_by_what_it_is_for(text: str, wrong: list[str]) -> None:
    """What is for a night counts for each night, what is for a person for each person, and nothing by chance."""
    assert refused(text, HOTEL, said="A room for 2 adults for 3 nights") == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("That is €104.50 a night for each person.", []),
        ("The garage is €69.67 a night.", ["€69.67"]),  # the stay by nine: nights are no people
        ("The Kamin, with half board, costs €940.50.", ["€940.50"]),  # half board is half of nothing
    ],
)
def test_a_stay_is_shared_by_nights_and_people(text: str, wrong: list[str]) -> None:
    """By both only where the sentence speaks of people."""
    assert refused(text, HOTEL, said="A room for 2 adults for 3 nights") == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The Kamin costs €243 more.", []),
        ("The Alm is €243 cheaper than the Kamin.", []),
        ("A transfer is €243.", ["€243"]),
        ("We take a deposit of 72 %.", ["72 %"]),  # one price is 72 % of the other
        ("The Alm costs about 72 % of what the Kamin does, €627 instead of €870.", []),
    ],
)
def test_what_lies_between_two_amounts_is_said_with_a_word_for_it(text: str, wrong: list[str]) -> None:
    """Neither a difference nor a percentage of two prices is a price or a share of something else."""
    assert refused(text, HOTEL, said="A room for 2 adults for 3 nights") == wrong
