"""Codes, numbers of trains and flights, and phone numbers, over tools that declare nothing."""

import pytest

from tests.planner.reply.grounding.replies import refused

CARDS = {"payment_methods": ["gift_card_1341784", {"id": "credit_card_9929635"}], "reservation_id": "FQ8APE"}


@pytest.mark.parametrize(
    ("reply", "right", "altered"),
    [
        ("The gift card ending in {}.", "1784", "1783"),
        ("Your credit card ends in {}.", "9635", "9633"),
        ("Your reservation {} is open.", "FQ8APE", "FQ8APX"),
        ("Reservation ID: {}.", "MQKNLA", "MQKNLB"),
    ],
)
def test_a_code_is_said_as_it_is_or_by_its_last_digits(reply: str, right: str, altered: str) -> None:
    """One with a single digit is one too; one without any, where the words before it call it so."""
    known = (CARDS, {"record": "MQKNLA"})

    assert refused(reply.format(right), *known) == []
    assert refused(reply.format(altered), *known) == [altered]


@pytest.mark.parametrize(
    "reply",
    [
        "In Q3 2026 it had 16 GB 512.",
        "It has 4K 60.",
        "Take the SERIES1 with 3METRES of it.",
        "PLEASE tell me.",
    ],
)
def test_not_every_word_in_capitals_is_a_code(reply: str) -> None:
    """A number with its unit, a quarter of a year, a name with its version, and a word."""
    assert refused(reply, CARDS, {"year": 2026, "gb": [4, 16, 60, 512]}) == []


TRAINS = {
    "trains": [{"train": "IC 523", "minutes": 151, "fare": 25.4}, {"train": "AP 121", "minutes": 95, "fare": 33.9}]
}


@pytest.mark.parametrize("reply", ["IC 523 takes 151 minutes.", "Take AP121, it is EUR 33.90."])
def test_a_number_of_a_train_or_a_flight_may_have_a_blank(reply: str) -> None:
    """It is a code, and no number of its own."""
    assert refused(reply, TRAINS) == []
    assert refused(reply.replace("523", "532").replace("121", "112"), TRAINS)


def test_the_phone_number_of_a_hotel_may_be_said() -> None:
    """What has stars is no person."""
    found = [
        {"name": "Canal Loft", "stars": 2, "phone": "+33 1 55 50 63 09"},
        {"name": "Ann Loft", "phone": "+33 1 55 50 63 10"},
    ]

    assert refused("Call the Canal Loft on +33 1 55 50 63 09.", found) == []
    assert refused("Call the Ann Loft on +33 1 55 50 63 10.", found)


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("At home you dial 01 55 01 90 05.", []),
        ("El teléfono es el 155 019 005.", []),
        ("At home you dial 01 55 01 77 18.", ["01 55 01 77 18"]),
        ("To join, dial +49 40 5550 0163.", []),
        ("Write to orders@inkwell.example.", []),
        ("Write to dana.levi@inkwell.example.", ["dana.levi@inkwell.example", "dana.levi@inkwell.example"]),
        ("It comes from archive/first-year.md.", []),
    ],
)
def test_what_is_an_offices_belongs_to_no_person(reply: str, wrong: list[str]) -> None:
    """The address of an office, a number to dial in, and a file are said; a number also without its country's code."""
    results = {
        "hotels": [{"name": "Auberge du Canal", "stars": 2, "phone": "+33 1 55 01 90 05"}],
        "passage": "The board meets on Thursday. Dial-in: +49 40 5550 0163.",
        "messages": [{"from": "Inkwell", "email": "orders@inkwell.example"}, {"email": "dana.levi@inkwell.example"}],
        "document": "archive/first-year.md",
    }

    assert refused(reply, results) == wrong
